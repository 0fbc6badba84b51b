#!/bin/sh
# 3 nodes in 3 steps, 7 evictions, 9s
set -e
kubectl taint nodes --overwrite -- node-a1 node-a2 node-c1 podberth.io/old=:PreferNoSchedule

# step 1, 0s to 3s
kubectl cordon -- node-a1
kubectl drain --ignore-daemonsets --grace-period=3 --timeout=5m0s -- node-a1
# replace nodes: node-a1
kubectl taint nodes -- node-a1 podberth.io/old:PreferNoSchedule-
kubectl uncordon -- node-a1

# step 2, 3s to 6s
kubectl cordon -- node-a2
kubectl drain --ignore-daemonsets --grace-period=3 --timeout=5m0s -- node-a2
# replace nodes: node-a2
kubectl taint nodes -- node-a2 podberth.io/old:PreferNoSchedule-
kubectl uncordon -- node-a2

# step 3, 6s to 9s
kubectl cordon -- node-c1
kubectl drain --ignore-daemonsets --grace-period=3 --timeout=5m0s -- node-c1
# replace nodes: node-c1
kubectl taint nodes -- node-c1 podberth.io/old:PreferNoSchedule-
kubectl uncordon -- node-c1
