#!/bin/sh
# 4 nodes in 6 steps, 11 evictions, 14m15s
set -e
kubectl taint nodes --overwrite -- node-a2 node-c1 node-b1 node-a1 podberth.io/old=:PreferNoSchedule
kubectl taint nodes --overwrite -- node-b2 podberth.io/old=:PreferNoSchedule
# left out: node-b2: several-budgets: 2 budgets cover the pod: shop/legacy, shop/legacy-old

# step 1, 0s to 2m0s
# add nodes: node-b1-surge-1

# step 2, 2m0s to 4m30s
kubectl cordon -- node-a2
kubectl drain --ignore-daemonsets -- node-a2
# replace nodes: node-a2
kubectl taint nodes -- node-a2 podberth.io/old:PreferNoSchedule-
kubectl uncordon -- node-a2

# step 3, 4m30s to 7m0s
kubectl cordon -- node-c1
kubectl drain --ignore-daemonsets -- node-c1
# replace nodes: node-c1
kubectl taint nodes -- node-c1 podberth.io/old:PreferNoSchedule-
kubectl uncordon -- node-c1

# step 4, 7m0s to 10m5s
kubectl cordon -- node-b1
kubectl drain --ignore-daemonsets -- node-b1
# replace nodes: node-b1
kubectl taint nodes -- node-b1 podberth.io/old:PreferNoSchedule-
kubectl uncordon -- node-b1

# step 5, 10m5s to 13m10s
kubectl cordon -- node-a1
kubectl drain --ignore-daemonsets -- node-a1
# replace nodes: node-a1
kubectl taint nodes -- node-a1 podberth.io/old:PreferNoSchedule-
kubectl uncordon -- node-a1

# step 6, 13m10s to 14m15s
kubectl cordon -- node-b1-surge-1
kubectl drain --ignore-daemonsets -- node-b1-surge-1
# remove nodes: node-b1-surge-1
kubectl delete node -- node-b1-surge-1

# the nodes that are left out
kubectl taint nodes -- node-b2 podberth.io/old:PreferNoSchedule-
