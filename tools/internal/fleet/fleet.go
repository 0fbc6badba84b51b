// Package fleet writes dumps of large clusters that have the shape of real ones: pools of nodes, workloads in several namespaces
// with disruption budgets, DaemonSets, claims on zonal disks, pending pods, and managed fields on every object. The same options
// write the same bytes.
package fleet

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
)

// Options say which cluster Write writes.
type Options struct {
	Nodes int
	Seed  uint64
	// Full clusters have less room than their pending pods ask for, and more of the pods have rules about other pods.
	Full bool
}

// pool is a kind of node. Of 100 nodes share are of this pool.
type pool struct {
	name            string
	share           int
	cpu, memory     int // cores, Gi
	gpus            int
	taint           string
	class, instance string
}

var pools = []pool{
	{"general", 48, 16, 64, 0, "", "on-demand", "m.4xlarge"},
	{"compute", 16, 32, 64, 0, "", "on-demand", "c.8xlarge"},
	{"memory", 12, 16, 128, 0, "", "on-demand", "r.4xlarge"},
	{"spot", 14, 16, 64, 0, "spot", "spot", "m.4xlarge"},
	{"gpu", 6, 48, 192, 4, "nvidia.com/gpu", "on-demand", "g.12xlarge"},
	{"system", 4, 8, 32, 0, "dedicated", "on-demand", "m.2xlarge"},
}

var zones = []string{"eu-1a", "eu-1b", "eu-1c"}

type object = map[string]any

type writer struct {
	out   *bufio.Writer
	rand  *rand.Rand
	o     Options
	uids  int
	nodes []node
}

// node is a written node with the room that is left.
type node struct {
	name, zone  string
	pool        *pool
	cpu, memory int // thousandths, Mi
	gpus, pods  int
}

// Write writes a cluster as lines of JSON.
func Write(out io.Writer, o Options) error {
	w := &writer{out: bufio.NewWriter(out), rand: rand.New(rand.NewPCG(o.Seed, 28)), o: o}
	for _, name := range []string{"shop", "data", "batch", "ml", "kube-system"} {
		w.write("v1", "Namespace", "", name, object{"kubernetes.io/metadata.name": name}, nil, nil)
	}
	w.write("storage.k8s.io/v1", "StorageClass", "", "zonal", nil, object{"provisioner": "disk.example.com", "volumeBindingMode": "WaitForFirstConsumer"}, nil)
	w.write("scheduling.k8s.io/v1", "PriorityClass", "", "critical", nil, object{"value": 100000}, nil)
	w.write("scheduling.k8s.io/v1", "PriorityClass", "", "low", nil, object{"value": -10}, nil)
	w.writeNodes()
	w.daemonSet("node-agent", 100, 128)
	w.daemonSet("log-agent", 200, 256)
	w.deployments()
	w.databases()
	w.pending()
	return w.out.Flush()
}

// write writes an object with metadata as an API server has it. more has the fields beside metadata.
func (w *writer) write(apiVersion, kind, namespace, name string, labels, more, metadata object) (uid string) {
	w.uids++
	uid = fmt.Sprintf("%08x-28a0-4b1c-9d2e-%012x", w.rand.Uint32(), w.uids)
	fields := object{"f:metadata": object{"f:labels": object{".": object{}}}, "f:spec": object{".": object{}}}
	for key := range labels {
		fields["f:metadata"].(object)["f:labels"].(object)["f:"+key] = object{}
	}
	meta := object{"name": name, "uid": uid, "resourceVersion": fmt.Sprint(1000 + w.uids), "creationTimestamp": "2026-03-02T08:00:00Z",
		"managedFields": []object{{"manager": "kube-controller-manager", "operation": "Update", "apiVersion": apiVersion, "time": "2026-03-02T08:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields}}}
	if namespace != "" {
		meta["namespace"] = namespace
	}
	if labels != nil {
		meta["labels"] = labels
	}
	for key, value := range metadata {
		meta[key] = value
	}
	all := object{"apiVersion": apiVersion, "kind": kind, "metadata": meta}
	for key, value := range more {
		all[key] = value
	}
	_ = json.NewEncoder(w.out).Encode(all) // out keeps its error for Flush
	return uid
}

func (w *writer) writeNodes() {
	for k := range w.o.Nodes {
		at := k * 100 / w.o.Nodes
		var p *pool
		for i := range pools {
			if p = &pools[i]; at < p.share {
				break
			}
			at -= p.share
		}
		n := node{fmt.Sprintf("%s-%05d", p.name, k), zones[w.rand.IntN(len(zones))], p, p.cpu*1000 - 320, p.memory<<10 - 2048, p.gpus, 110}
		amounts := object{"cpu": fmt.Sprintf("%dm", n.cpu), "memory": fmt.Sprintf("%dMi", n.memory), "pods": "110", "ephemeral-storage": "90Gi"}
		if p.gpus > 0 {
			amounts["nvidia.com/gpu"] = fmt.Sprint(p.gpus)
		}
		spec := object{"podCIDR": fmt.Sprintf("10.%d.%d.0/24", k/256, k%256)}
		if p.taint != "" {
			spec["taints"] = []object{{"key": p.taint, "value": "true", "effect": "NoSchedule"}}
		}
		if w.rand.IntN(200) == 0 {
			spec["unschedulable"] = true
		}
		w.write("v1", "Node", "", n.name, object{"kubernetes.io/hostname": n.name, "topology.kubernetes.io/zone": n.zone, "topology.kubernetes.io/region": "eu-1",
			"node.kubernetes.io/instance-type": p.instance, "pool": p.name, "capacity-type": p.class, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"},
			object{"spec": spec, "status": object{"capacity": amounts, "allocatable": amounts, "conditions": []object{{"type": "Ready", "status": "True", "lastTransitionTime": "2026-03-02T08:00:00Z"}},
				"nodeInfo": object{"kubeletVersion": "v1.36.3"}}}, nil)
		if spec["unschedulable"] == nil {
			w.nodes = append(w.nodes, n)
		}
	}
}

// ask is what the pods of a workload ask for.
type ask struct {
	cpu, memory, gpus int
	pool              string // "": any node without taint
}

// fits takes the room of a pod from a node.
func (n *node) take(a ask) bool {
	if a.pool == "" && n.pool.taint != "" || a.pool != "" && n.pool.name != a.pool || n.cpu < a.cpu || n.memory < a.memory || n.gpus < a.gpus || n.pods == 0 {
		return false
	}
	n.cpu, n.memory, n.gpus, n.pods = n.cpu-a.cpu, n.memory-a.memory, n.gpus-a.gpus, n.pods-1
	return true
}

// place returns a node with room near a random place, nil when there is none among the next hundred.
func (w *writer) place(a ask) *node {
	from := w.rand.IntN(len(w.nodes))
	if a.pool != "" {
		for k := range w.nodes { // begin where the pool begins
			if w.nodes[k].pool.name == a.pool {
				from = k + w.rand.IntN(max(1, len(w.nodes)/50))
				break
			}
		}
	}
	for k := range 100 {
		if n := &w.nodes[(from+k)%len(w.nodes)]; n.take(a) {
			return n
		}
	}
	return nil
}

// template returns the spec of a pod.
func (w *writer) template(name string, a ask) object {
	requests := object{"cpu": fmt.Sprintf("%dm", a.cpu), "memory": fmt.Sprintf("%dMi", a.memory)}
	limits := object{"memory": fmt.Sprintf("%dMi", a.memory*2)}
	if a.gpus > 0 {
		requests["nvidia.com/gpu"], limits["nvidia.com/gpu"] = fmt.Sprint(a.gpus), fmt.Sprint(a.gpus)
	}
	spec := object{"schedulerName": "default-scheduler", "restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "priority": 0,
		"containers": []object{{"name": "main", "image": "registry.example.com/" + name + ":1.4.2", "resources": object{"requests": requests, "limits": limits}}}}
	if a.pool != "" {
		spec["nodeSelector"] = object{"pool": a.pool}
		spec["tolerations"] = []object{{"operator": "Exists", "effect": "NoSchedule"}}
	}
	return spec
}

// pod writes a pod on a node, or a pending pod when n is nil.
func (w *writer) pod(namespace, name string, labels, spec object, owner object, n *node) {
	copied := object{}
	for key, value := range spec {
		copied[key] = value
	}
	status := object{"phase": "Pending"}
	if n != nil {
		copied["nodeName"] = n.name
		status = object{"phase": "Running", "startTime": fmt.Sprintf("2026-03-%02dT%02d:00:00Z", 1+w.rand.IntN(28), w.rand.IntN(24)), "conditions": []object{{"type": "Ready", "status": "True"}}}
	}
	var metadata object
	if owner != nil {
		metadata = object{"ownerReferences": []object{owner}}
	}
	w.write("v1", "Pod", namespace, name, labels, object{"spec": copied, "status": status}, metadata)
}

func reference(apiVersion, kind, name, uid string) object {
	return object{"apiVersion": apiVersion, "kind": kind, "name": name, "uid": uid, "controller": true, "blockOwnerDeletion": true}
}

// daemonSet writes a DaemonSet with a pod on every node.
func (w *writer) daemonSet(name string, cpu, memory int) {
	a := ask{cpu: cpu, memory: memory}
	labels := object{"app": name}
	spec := w.template(name, a)
	spec["tolerations"] = []object{{"operator": "Exists"}}
	uid := w.write("apps/v1", "DaemonSet", "kube-system", name, labels, object{"spec": object{"selector": object{"matchLabels": labels}, "template": object{"metadata": object{"labels": labels}, "spec": spec}}}, nil)
	for k := range w.nodes {
		n := &w.nodes[k]
		n.cpu, n.memory, n.pods = n.cpu-cpu, n.memory-memory, n.pods-1
		w.pod("kube-system", fmt.Sprintf("%s-%05d", name, k), labels, spec, reference("apps/v1", "DaemonSet", name, uid), n)
	}
}

// deployments writes Deployments with their ReplicaSets, pods and budgets.
func (w *writer) deployments() {
	for k := range max(6, w.o.Nodes/25) {
		name, namespace := fmt.Sprintf("web-%04d", k), []string{"shop", "data", "batch"}[w.rand.IntN(3)]
		a := ask{cpu: 100 << w.rand.IntN(5), memory: 128 << w.rand.IntN(5)}
		switch w.rand.IntN(12) {
		case 0:
			a.pool = "spot"
		case 1:
			namespace, a = "ml", ask{cpu: 2000, memory: 8192, gpus: 1, pool: "gpu"}
		}
		replicas := 1 + w.rand.IntN(60)
		labels, hash := object{"app": name}, fmt.Sprintf("%08x", w.rand.Uint32())
		spec := w.template(name, a)
		if w.o.Full && w.rand.IntN(3) == 0 {
			spec["affinity"] = object{"podAntiAffinity": object{"preferredDuringSchedulingIgnoredDuringExecution": []object{{"weight": 50,
				"podAffinityTerm": object{"topologyKey": "kubernetes.io/hostname", "labelSelector": object{"matchLabels": labels}}}}}}
		}
		if w.rand.IntN(3) == 0 {
			spec["topologySpreadConstraints"] = []object{{"maxSkew": 5, "topologyKey": "topology.kubernetes.io/zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": object{"matchLabels": labels}}}
		}
		w.workload(namespace, name, hash, labels, spec, a, replicas)
		if w.rand.IntN(2) == 0 {
			w.write("policy/v1", "PodDisruptionBudget", namespace, name, nil, object{"spec": object{"maxUnavailable": "10%", "selector": object{"matchLabels": labels}},
				"status": object{"observedGeneration": 0, "currentHealthy": replicas, "desiredHealthy": replicas - replicas/10, "expectedPods": replicas, "disruptionsAllowed": replicas / 10}}, nil)
		}
	}
}

func (w *writer) workload(namespace, name, hash string, labels, spec object, a ask, replicas int) {
	set := name + "-" + hash
	own := object{"app": labels["app"], "pod-template-hash": hash}
	deployment := w.write("apps/v1", "Deployment", namespace, name, labels, object{"spec": object{"replicas": replicas, "selector": object{"matchLabels": labels}, "template": object{"metadata": object{"labels": labels}, "spec": spec}}}, nil)
	uid := w.write("apps/v1", "ReplicaSet", namespace, set, own, object{"spec": object{"replicas": replicas, "selector": object{"matchLabels": own}, "template": object{"metadata": object{"labels": own}, "spec": spec}}},
		object{"ownerReferences": []object{reference("apps/v1", "Deployment", name, deployment)}})
	for k := range replicas {
		w.pod(namespace, fmt.Sprintf("%s-%03d", set, k), own, spec, reference("apps/v1", "ReplicaSet", set, uid), w.place(a))
	}
}

// databases writes StatefulSets whose pods have claims on disks of their zone.
func (w *writer) databases() {
	for k := range max(2, w.o.Nodes/100) {
		name := fmt.Sprintf("db-%04d", k)
		labels, a, replicas := object{"app": name}, ask{cpu: 1000, memory: 4096, pool: "memory"}, 3
		uid := w.write("apps/v1", "StatefulSet", "data", name, labels, object{"spec": object{"replicas": replicas, "serviceName": name, "selector": object{"matchLabels": labels},
			"template": object{"metadata": object{"labels": labels}, "spec": w.template(name, a)}}}, nil)
		for i := range replicas {
			n := w.place(a)
			if n == nil {
				continue
			}
			pod, claim, volume := fmt.Sprintf("%s-%d", name, i), fmt.Sprintf("data-%s-%d", name, i), fmt.Sprintf("pv-%04d-%d", k, i)
			claimed := w.write("v1", "PersistentVolumeClaim", "data", claim, nil, object{"spec": object{"accessModes": []string{"ReadWriteOnce"}, "storageClassName": "zonal", "volumeName": volume, "volumeMode": "Filesystem",
				"resources": object{"requests": object{"storage": "100Gi"}}}, "status": object{"phase": "Bound"}}, object{"annotations": object{"pv.kubernetes.io/bind-completed": "yes"}})
			w.write("v1", "PersistentVolume", "", volume, nil, object{"spec": object{"capacity": object{"storage": "100Gi"}, "accessModes": []string{"ReadWriteOnce"}, "storageClassName": "zonal", "volumeMode": "Filesystem",
				"csi":          object{"driver": "disk.example.com", "volumeHandle": volume},
				"claimRef":     object{"kind": "PersistentVolumeClaim", "namespace": "data", "name": claim, "uid": claimed},
				"nodeAffinity": object{"required": object{"nodeSelectorTerms": []object{{"matchExpressions": []object{{"key": "topology.kubernetes.io/zone", "operator": "In", "values": []string{n.zone}}}}}}}},
				"status": object{"phase": "Bound"}}, nil)
			spec := w.template(name, a)
			spec["volumes"] = []object{{"name": "data", "persistentVolumeClaim": object{"claimName": claim}}}
			w.pod("data", pod, object{"app": name, "statefulset.kubernetes.io/pod-name": pod}, spec, reference("apps/v1", "StatefulSet", name, uid), n)
		}
		w.write("policy/v1", "PodDisruptionBudget", "data", name, nil, object{"spec": object{"minAvailable": 2, "selector": object{"matchLabels": labels}},
			"status": object{"observedGeneration": 0, "currentHealthy": 3, "desiredHealthy": 2, "expectedPods": 3, "disruptionsAllowed": 1}}, nil)
	}
}

// pending writes pods that wait for a node.
func (w *writer) pending() {
	count := max(10, w.o.Nodes/20)
	for k := range count {
		a := ask{cpu: 500 << w.rand.IntN(4), memory: 512 << w.rand.IntN(4)}
		if w.o.Full {
			a.cpu, a.memory = a.cpu*3, a.memory*3
		}
		switch w.rand.IntN(10) {
		case 0:
			a.gpus, a.pool = 1+w.rand.IntN(4), "gpu"
		case 1:
			a.pool = strings.Fields("spot memory compute")[w.rand.IntN(3)]
		}
		spec := w.template("job", a)
		if w.rand.IntN(4) == 0 {
			spec["priorityClassName"], spec["priority"] = "critical", 100000
		}
		w.pod("batch", fmt.Sprintf("job-%05d", k), object{"app": "job"}, spec, nil, nil)
	}
}
