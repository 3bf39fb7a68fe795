# The still world: its objects, and the states that controllers and nodes would have given them.
berth create -f still.yaml >/dev/null

state() {
    berth patch "$1" --subresource=status --type=merge -p "{\"status\":$2}" ${3+"$3"} >/dev/null
}

uid=$(berth get pvc data -o jsonpath='{.metadata.uid}')
berth patch pv bound-csi --type=merge -p "{\"spec\":{\"claimRef\":{\"uid\":\"$uid\"}}}" >/dev/null
berth patch pvc data --type=merge -p '{"metadata":{"annotations":{
    "pv.kubernetes.io/bind-completed":"yes","pv.kubernetes.io/bound-by-controller":"yes"}}}' >/dev/null
for name in waiting,default db,shop; do # so that `describe` finds the events
    uid=$(berth get pvc "${name%,*}" -n "${name#*,}" -o jsonpath='{.metadata.uid}')
    berth patch event "${name%,*}.1" -n "${name#*,}" -p "{\"involvedObject\":{\"uid\":\"$uid\"}}" >/dev/null
done
for name in free-small free-nfs local-n1; do
    state pv/$name '{"phase":"Available"}'
done
state pv/bound-csi '{"phase":"Bound"}'
state pv/left-over '{"phase":"Released"}'
state pvc/data '{"phase":"Bound","accessModes":["ReadWriteOnce"],"capacity":{"storage":"2Gi"}}'
state pvc/old '{"phase":"Lost"}' --namespace=shop
state pvc/waiting '{"phase":"Pending","conditions":[{"type":"Resizing","status":"True","reason":"Growing",
    "message":"grows","lastTransitionTime":"2026-01-01T00:00:00Z"}]}'
state volumeattachment/attachment-1 '{"attached":true}'
state node/n1 '{"capacity":{"cpu":"4","memory":"8Gi","pods":"110"},"allocatable":{"cpu":"4","memory":"8Gi","pods":"110"},
    "addresses":[{"type":"InternalIP","address":"10.0.0.1"},{"type":"Hostname","address":"n1"}],
    "conditions":[{"type":"Ready","status":"True","reason":"AgentReady","message":"the agent runs",
        "lastHeartbeatTime":"2026-01-01T00:00:00Z","lastTransitionTime":"2026-01-01T00:00:00Z"}],
    "nodeInfo":{"kubeletVersion":"v1.32.0"},
    "volumesAttached":[{"name":"kubernetes.io/csi/disk.example.com^h-1","devicePath":""}],
    "volumesInUse":["kubernetes.io/csi/disk.example.com^h-1"]}'
state pod/web '{"phase":"Running","podIP":"10.0.0.7","hostIP":"10.0.0.1","startTime":"2026-01-01T00:00:00Z",
    "conditions":[{"type":"Ready","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"},
        {"type":"PodScheduled","status":"True","lastTransitionTime":"2026-01-01T00:00:00Z"}],
    "containerStatuses":[{"name":"c","image":"registry.example/app:1","imageID":"sha256:1","containerID":"run://1",
        "ready":true,"restartCount":2,"state":{"running":{"startedAt":"2026-01-01T00:00:00Z"}}}]}'
state pod/worker '{"phase":"Pending","conditions":[{"type":"PodScheduled","status":"False","reason":"Unschedulable",
    "message":"pod has unbound immediate PersistentVolumeClaims","lastTransitionTime":"2026-01-01T00:00:00Z"}]}' \
    --namespace=shop
