"""A manifest as documentation of persistent volumes prints it, and what binds its claim to its volume."""

from harness import berth

# It explains every field: the claim is not the volume's.
EXPORT = """
apiVersion: v1
kind: PersistentVolume
metadata:
  name: pv-example
  labels:
    type: local
spec:
  # 存储容量
  capacity:
    storage: 10Gi

  # 访问模式
  accessModes:
    - ReadWriteOnce

  # 卷模式
  volumeMode: Filesystem

  # 回收策略
  persistentVolumeReclaimPolicy: Retain

  # StorageClass 名称（空字符串表示静态供应）
  storageClassName: standard

  # 挂载选项
  mountOptions:
    - hard
    - nfsvers=4.1

  # 节点亲和性
  nodeAffinity:
    required:
      nodeSelectorTerms:
      - matchExpressions:
        - key: kubernetes.io/hostname
          operator: In
          values:
          - node-1

  # 存储后端配置（多选一）
  nfs:
    server: nfs-server.example.com
    path: /exports/data
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  name: pvc-example
  namespace: default
spec:
  # 访问模式
  accessModes:
    - ReadWriteOnce

  # 卷模式
  volumeMode: Filesystem

  # 存储请求
  resources:
    requests:
      storage: 5Gi

  # StorageClass 名称
  storageClassName: standard

  # 选择器（可选）
  selector:
    matchLabels:
      type: local
    matchExpressions:
      - key: environment
        operator: In
        values:
          - production

  # 数据源（用于克隆或恢复）
  dataSource:
    name: existing-pvc
    kind: PersistentVolumeClaim
"""


def bind_printed_export(node):
    """Its labels are not all that the claim asks for, and a volume cannot be filled: one has to say so."""
    node.kubectl("apply", "-f", "-", input=EXPORT)
    node.kubectl("wait", "--for=jsonpath={.status.phase}=Available", "pv/pv-example", "--timeout=20s")
    shown = berth("why", "pvc/pvc-example", "--kubeconfig", node.kubeconfig).stdout
    assert "has data source PersistentVolumeClaim existing-pvc" in shown, shown
    node.kubectl("label", "pv", "pv-example", "environment=production")
    node.kubectl("patch", "pvc", "pvc-example", "-p", '{"spec":{"volumeName":"pv-example"}}')
    node.await_bound("pvc-example")
