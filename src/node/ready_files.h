/* Checks the pod state files when the agent's process starts.
 *
 * A power failure or a reboot removes the mounts and leaves the files, and another program may unmount while
 * no agent runs. The check does not need the API server: it comes before everything else, because the server
 * may be unreachable for long, and programs read the files meanwhile. */
#ifndef BERTH_NODE_READY_FILES_H
#define BERTH_NODE_READY_FILES_H

/* Sets `ready` to false in every state file below this root that says true and was not written during this
 * boot of the machine, or lists a mount that does not exist. Other files are not written. Files that cannot
 * be read or written are logged: the agent tries again when it knows the pod (pod_life.h). Blocks; costs one
 * read of the mount table, a few system calls per pod, and two syncs per changed file. */
void ready_files_check(const char *root);

#endif
