# The living world: its nodes are ready, then everything else; it has settled when nothing more can happen.
awk 'BEGIN { RS = "---\n" } NR <= 2 { print $0 "---" }' living.yaml | berth apply -f - >/dev/null
for node in n1 n2; do
    berth patch node $node --subresource=status --type=merge -p '{"status":{
        "conditions":[{"type":"Ready","status":"True"}],
        "capacity":{"cpu":"4","memory":"8Gi","pods":"110"},"allocatable":{"cpu":"4","memory":"8Gi","pods":"110"}}}' >/dev/null
    berth patch node $node --type=json -p '[{"op":"add","path":"/spec/taints","value":[]}]' >/dev/null
done
berth apply -f living.yaml >/dev/null
berth wait pvc/static pvc/dynamic --for=jsonpath='{.status.phase}'=Bound --timeout=60s >/dev/null
berth apply -f living-web.yaml >/dev/null
berth wait pvc/delayed --for=jsonpath='{.status.phase}'=Bound --timeout=60s >/dev/null
berth wait pod/web --for=jsonpath='{.spec.nodeName}'=n2 --timeout=60s >/dev/null
berth wait pv/local-n2 --for=jsonpath='{.status.phase}'=Bound --timeout=60s >/dev/null
berth wait pvc/dynamic --for=condition=Unused=False --timeout=60s >/dev/null
berth apply -f living-stuck.yaml >/dev/null
berth wait pod/stuck --for=condition=PodScheduled=False --timeout=60s >/dev/null
# An event is the last word on each of those that wait.
for about in pvc/too-much pvc/classless pod/stuck pod/web pvc/static; do
    for try in $(seq 600); do
        [ -n "$(berth events --for $about --no-headers 2>/dev/null)" ] && break
        sleep 0.1
    done
done
