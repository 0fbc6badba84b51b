#!/bin/sh
# 3 nodes in 3 steps, 7 evictions, 9s
set -e
kubectl taint nodes node-a1 node-a2 node-c1 podberth.io/old=:PreferNoSchedule --overwrite

# step 1, 0s to 3s
kubectl cordon node-a1
kubectl drain node-a1 --ignore-daemonsets --grace-period=3 --timeout=5m0s
# replace nodes: node-a1
kubectl taint nodes node-a1 podberth.io/old:PreferNoSchedule-
kubectl uncordon node-a1

# step 2, 3s to 6s
kubectl cordon node-a2
kubectl drain node-a2 --ignore-daemonsets --grace-period=3 --timeout=5m0s
# replace nodes: node-a2
kubectl taint nodes node-a2 podberth.io/old:PreferNoSchedule-
kubectl uncordon node-a2

# step 3, 6s to 9s
kubectl cordon node-c1
kubectl drain node-c1 --ignore-daemonsets --grace-period=3 --timeout=5m0s
# replace nodes: node-c1
kubectl taint nodes node-c1 podberth.io/old:PreferNoSchedule-
kubectl uncordon node-c1
