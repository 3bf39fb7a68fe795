/* The host name of this machine. */
#ifndef BERTH_IO_HOSTNAME_H
#define BERTH_IO_HOSTNAME_H

#include "base/error.h"

#define IO_HOST_NAME_BYTES 256 /* with the NUL */

int io_host_name(char ret[IO_HOST_NAME_BYTES], struct error *err);

#endif
