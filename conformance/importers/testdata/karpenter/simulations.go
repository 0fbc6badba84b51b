package disruption

import (
	"context"
	"encoding/json"
	"os"
	"sync"

	"github.com/onsi/ginkgo/v2"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
)

// simulation is one call of SimulateScheduling. Package main of conformance/importers reads it.
type simulation struct {
	Spec       string
	Nodes      []simulated
	Candidates []string
	Placed     []placed       // on existing nodes
	Others     []*corev1.Pod  // on nodes to come, or without a place
	Objects    map[string]any // of the cluster, by the names of cluster.Objects
}

// simulated is a node as Karpenter knows it.
type simulated struct {
	Name                  string
	Deleting, Initialized bool
}

type placed struct {
	Node string
	Pod  *corev1.Pod
}

var recording sync.Mutex

func SimulateScheduling(ctx context.Context, c client.Client, cluster *state.Cluster, p *provisioning.Provisioner, clk clock.Clock, recorder events.Recorder,
	options []scheduling.Options, simulationOptions SimulationOptions, candidates ...*Candidate) (scheduling.Results, error) {
	s := simulation{Spec: ginkgo.CurrentSpecReport().FullText(), Objects: map[string]any{}}
	for n := range cluster.Nodes() {
		one := simulated{Name: n.Name(), Deleting: n.MarkedForDeletion() || n.Deleted(), Initialized: n.Node != nil && n.Initialized()}
		s.Nodes = append(s.Nodes, one)
	}
	for _, candidate := range candidates {
		s.Candidates = append(s.Candidates, candidate.Name())
	}
	var (
		running    corev1.PodList
		nodes      corev1.NodeList
		claims     corev1.PersistentVolumeClaimList
		volumes    corev1.PersistentVolumeList
		classes    storagev1.StorageClassList
		csi        storagev1.CSINodeList
		namespaces corev1.NamespaceList
		slices     resourcev1.ResourceSliceList
		devices    resourcev1.ResourceClaimList
		templates  resourcev1.ResourceClaimTemplateList
		kinds      resourcev1.DeviceClassList
	)
	for name, list := range map[string]client.ObjectList{
		"Pods":                   &running,
		"Nodes":                  &nodes,
		"Claims":                 &claims,
		"PersistentVolumes":      &volumes,
		"StorageClasses":         &classes,
		"CSINodes":               &csi,
		"Namespaces":             &namespaces,
		"ResourceSlices":         &slices,
		"ResourceClaims":         &devices,
		"ResourceClaimTemplates": &templates,
		"DeviceClasses":          &kinds,
	} {
		if err := c.List(ctx, list); err != nil {
			panic(err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			panic(err)
		}
		s.Objects[name] = items
	}
	pods := map[types.UID]*corev1.Pod{} // as they are stored: a simulation relaxes its copies
	for i := range running.Items {
		pods[running.Items[i].UID] = &running.Items[i]
	}

	results, err := replacedSimulateScheduling(ctx, c, cluster, p, clk, recorder, options, simulationOptions, candidates...)
	if err != nil {
		return results, err
	}
	stored := func(p *corev1.Pod) *corev1.Pod {
		if have := pods[p.UID]; have != nil {
			return have
		}
		return p
	}
	for _, n := range results.ExistingNodes {
		for _, pod := range n.Pods {
			s.Placed = append(s.Placed, placed{n.Name(), stored(pod)})
		}
	}
	for _, n := range results.NewNodeClaims {
		for _, pod := range n.Pods {
			s.Others = append(s.Others, stored(pod))
		}
	}
	for pod := range results.PodErrors {
		s.Others = append(s.Others, stored(pod))
	}
	recording.Lock()
	defer recording.Unlock()
	file, failed := os.OpenFile(os.Getenv("PODBERTH_RECORD"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if failed != nil {
		panic(failed)
	}
	defer file.Close()
	if failed := json.NewEncoder(file).Encode(s); failed != nil {
		panic(failed)
	}
	return results, err
}
