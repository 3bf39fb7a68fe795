"""Roles of Kubernetes manifests, and the requests that a program made: who was allowed what, and who used it.

A request is (verb, group, resource with its subresource, namespace, name), as the server's log has it.
"""

import glob
import os
import re
import sys

sys.path.append("/usr/lib/python3/dist-packages")  # Debian's python3-yaml, whichever python3 comes first
import yaml  # noqa: E402


def asked(verb, path):
    """The request of a line in the server's log."""
    path = path.split("?")[0]
    core = re.fullmatch(r"/api/v1/(.+)", path)
    other = re.fullmatch(r"/apis/([^/]+)/[^/]+/(.+)", path)
    assert core or other, path
    group, rest = ("", core.group(1)) if core else other.groups()
    words, namespace = rest.split("/"), ""
    if words[0] == "namespaces" and len(words) > 2:
        namespace, words = words[1], words[2:]
    name = words[1] if len(words) > 1 else ""
    resource = "/".join([words[0], *words[2:]])
    return verb, group, resource, namespace, name


def requests_of(server, user):
    """What a user asked the server for; it logs at the level debug."""
    found = re.findall(rf"request verb=(\S+) path=(\S+) user={user} ", server.log)
    paths = {path for verb, path in found if verb == "-"}
    # Every account may read the first, and these may read the second of a Berth server.
    assert paths <= {"/version", "/status"}, paths
    return {asked(verb, path) for verb, path in found if verb != "-"}


def allows(rule, namespace, question):
    verb, group, resource, where, name = question
    if namespace and namespace != where:
        return False
    names = rule.get("resourceNames")
    return (
        verb in rule["verbs"]
        and group in rule["apiGroups"]
        and resource in rule["resources"]
        and (not names or name in names)
    )


class Manifests:
    """The documents of a folder."""

    def __init__(self, folder):
        self.documents = []
        for path in sorted(glob.glob(os.path.join(folder, "*.yaml"))):
            with open(path, encoding="utf-8") as file:
                self.documents += [(os.path.basename(path), d) for d in yaml.safe_load_all(file) if d]

    def of_kind(self, kind):
        return {d["metadata"]["name"]: d for _, d in self.documents if d.get("kind") == kind}

    def rules_of(self, account, where):
        """[(namespace or None, rule, the role's name)] that are bound to a service account."""
        rules = []
        for binding, role in (("ClusterRoleBinding", "ClusterRole"), ("RoleBinding", "Role")):
            for b in self.of_kind(binding).values():
                subject = {"kind": "ServiceAccount", "name": account, "namespace": where}
                if subject in b["subjects"]:
                    name = b["roleRef"]["name"]
                    namespace = b["metadata"].get("namespace")
                    rules += [(namespace, r, name) for r in self.of_kind(role)[name]["rules"]]
        return rules


def refused(rules, questions):
    """The requests that no rule allows."""
    return [q for q in questions if not any(allows(r, ns, q) for ns, r, _ in rules)]


def permissions(rules):
    """(verb, group, resource, namespace of the rule, names) one by one."""
    for namespace, rule, _ in rules:
        for verb in rule["verbs"]:
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    yield verb, group, resource, namespace, rule.get("resourceNames")


def is_used(questions, verb, group, resource, namespace, names):
    one = {"verbs": [verb], "apiGroups": [group], "resources": [resource]}
    if names:
        one["resourceNames"] = names
    return any(allows(one, namespace, q) for q in questions)
