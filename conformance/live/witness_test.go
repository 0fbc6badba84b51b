package live

import (
	"context"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	fwk "k8s.io/kube-scheduler/framework"
)

// witness is a plugin of kube-scheduler that writes down on what state each decision was made. Reserve runs between the decision about
// a pod and the next decision, on the snapshot of the decision.
type witness struct {
	handle fwk.Handle
	failed func(error)

	mu   sync.Mutex
	seen map[types.UID]decided // the last decision about each pod
}

// decided is a decision of kube-scheduler, and the nodes and pods that it was made with. Pods that were assumed are among the pods.
type decided struct {
	pod   *v1.Pod
	node  string
	nodes []*v1.Node
	pods  []*v1.Pod
}

func newWitness(failed func(error)) *witness {
	return &witness{failed: failed, seen: map[types.UID]decided{}}
}

func (x *witness) create(_ context.Context, _ runtime.Object, h fwk.Handle) (fwk.Plugin, error) {
	x.handle = h
	return x, nil
}

func (x *witness) Name() string { return "Witness" }

func (x *witness) Reserve(_ context.Context, _ fwk.CycleState, pod *v1.Pod, node string) *fwk.Status {
	d := decided{pod: pod.DeepCopy(), node: node}
	infos, err := x.handle.SnapshotSharedLister().NodeInfos().List()
	if err != nil {
		x.failed(err)
		return nil
	}
	for _, n := range infos {
		d.nodes = append(d.nodes, n.Node())
		for _, p := range n.GetPods() {
			d.pods = append(d.pods, p.GetPod())
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.seen[pod.UID] = d
	return nil
}

func (x *witness) Unreserve(context.Context, fwk.CycleState, *v1.Pod, string) {}

// of returns the last decision about a pod.
func (x *witness) of(uid types.UID) (decided, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	d, ok := x.seen[uid]
	return d, ok
}
