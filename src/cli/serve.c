/* `berth serve`: the control plane on one machine. */
#include "cli/cli.h"

#include "cli/program.h"

#define CONTROLLERS_GROUP "Controllers and scheduler"

static const struct flag serve_flags[] = {
    PROGRAM_FLAG(data, "data", "DIR",
                 "where everything is kept; else $BERTH_DATA, else /var/lib/berth (root) or "
                 "~/.local/share/berth"),
    PROGRAM_FLAG(listen, "listen", "ADDR:PORT", "where the API listens; default " DAEMON_ADDRESS),
    FLAG_ON(struct daemon_settings, is_insecure, "insecure",
            "plain HTTP and no authentication; loopback addresses only"),
    PROGRAM_FLAG(without, "without", "LIST",
                 "parts not to run, with commas between: api, controllers, scheduler, node"),
    PROGRAM_FLAG_IN(PROGRAM_NODE_GROUP, node.name, "node-name", "NAME",
                    "what this machine's node is called; default its host name"),
    PROGRAM_FLAG_IN(PROGRAM_NODE_GROUP, node.root, "root", "DIR",
                    "where the node keeps pods' volumes; default DATA/node"),
    PROGRAM_NODE_FLAGS,
    PROGRAM_CONTROLLERS_FLAGS(CONTROLLERS_GROUP),
    PROGRAM_BIND_TIMEOUT_FLAG(CONTROLLERS_GROUP),
    PROGRAM_FLAG(event_ttl, "event-ttl", "SECONDS", "how long events are kept; default 3600"),
    PROGRAM_FLAG(token_file, "token-file", "FILE",
                 "static bearer tokens: lines of token,user,uid,\"group1,group2\""),
    PROGRAM_CONFIG_FLAG("data: DIR", " and with provisioners"),
    PROGRAM_LOG_FLAGS,
    { 0 },
};

static int serve_run(int argc, char **argv)
{
    return program_run(&cli_verb_serve, &daemon_serve, argc, argv);
}

const struct cli_verb cli_verb_serve = {
    .name = "serve",
    .group = CLI_SERVERS,
    .usage = "serve [FLAG...]",
    .summary = "Run the control plane on this machine: API server, controllers, scheduler, node",
    .about =
        "Everything is kept in the data directory. At the first start a certificate authority and a "
        "kubeconfig for "
        "the administrator are made there: 'kubectl --kubeconfig DATA/kubeconfig' and Berth's own "
        "commands use it. "
        "Stop it with SIGTERM or Ctrl-C.\n"
        "Without root everything works but mounting: a warning at the start, the Node's condition and the "
        "pods' events say so.",
    .flags = serve_flags,
    .examples = "  berth serve                                 # in the default data directory\n"
                "  berth serve --data ./data --listen 127.0.0.1:8000\n"
                "  berth serve --without node                  # it mounts nothing\n"
                "  berth serve --enable-hostpath-provisioner   # for a first try of classes\n"
                "  berth serve --config /etc/berth/berth.conf  # see berth.conf(5)\n",
    .run = serve_run,
};
