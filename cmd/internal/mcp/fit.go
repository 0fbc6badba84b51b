package mcp

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podberth/podberth/admission"
	"github.com/podberth/podberth/tools/dump"
	"github.com/podberth/podberth/tools/place"
)

// room is what program place says about more pods like one.
type room struct {
	Pod   string   `json:"pod"`
	Count int      `json:"count"`
	Nodes []string `json:"nodes"`
	Stop  *struct {
		Message string `json:"message"`
	} `json:"stop"`
	Group *groupRoom `json:"group"`
}

// groupRoom is how many more groups like that of the pod fit, each with all of its pods.
type groupRoom struct {
	Root    string `json:"root"`
	Needs   int    `json:"needs"`
	Pods    int    `json:"pods"` // of one
	Count   int    `json:"count"`
	Stop    string `json:"stop,omitempty"`
	Domains []struct {
		Name  string `json:"name"`
		Count int    `json:"count"`
	} `json:"domains,omitempty"`
	Members *struct { // more pods of the group itself
		Count int    `json:"count"`
		Stop  string `json:"stop,omitempty"`
	} `json:"members,omitempty"`
}

// fitAnswer is the answer of fit.
type fitAnswer struct {
	Pod      string   `json:"pod"`
	Count    int      `json:"count"`
	Enough   *bool    `json:"enough,omitempty"` // whether as many fit as were asked for
	Nodes    []onNode `json:"nodes"`            // most pods first
	NodesAll int      `json:"nodesAll"`         // how many nodes take one or more
	Stop     string   `json:"stop"`             // why the next does not fit; "" when the count ended
	Leader   string   `json:"leader,omitempty"` // the node of the leader
	// Group is about the group of the pod: then Count and Nodes are of the pods of whole groups.
	Group *groupRoom `json:"group,omitempty"`
}

type onNode struct {
	Node string `json:"node"`
	Pods int    `json:"pods"`
}

// fitPods answers fit with the command fit.
func fitPods(q *question, in *input) (reply, error) {
	stdin, pod := q.snapshot.in, q.qualified(in.Pod)
	if in.Template != "" {
		p, err := q.ofTemplate(in.Template)
		if err != nil {
			return reply{}, err
		}
		objects, err := dump.Read([]string{"-"}, stdin, dump.Options{})
		if err != nil {
			return reply{}, err
		}
		objects.Pods = append(objects.Pods, p)
		stdin, pod = dump.Hold(objects), p.Namespace+"/"+p.Name
	}
	a := fitAnswer{Pod: pod, Nodes: []onNode{}}
	if in.Leader != "" {
		var err error
		if a.Leader, stdin, err = q.placeLeader(stdin, q.qualified(in.Leader)); err != nil {
			return reply{}, err
		}
	}
	var r room
	if err := q.run("place", place.Run, stdin, &r, "-how-many="+pod); err != nil {
		return reply{}, err
	}
	a.Count, a.Group = r.Count, r.Group
	if r.Stop != nil {
		a.Stop = r.Stop.Message
	}
	if r.Group != nil {
		a.Stop = r.Group.Stop
	}
	if in.Count > 0 {
		enough := r.Count >= in.Count
		a.Enough = &enough
	}
	on := map[string]int{}
	for _, n := range r.Nodes {
		on[n]++
	}
	for n, pods := range on {
		a.Nodes = append(a.Nodes, onNode{n, pods})
	}
	a.NodesAll = len(a.Nodes)
	slices.SortFunc(a.Nodes, func(x, y onNode) int {
		return cmp.Or(cmp.Compare(y.Pods, x.Pods), strings.Compare(x.Node, y.Node))
	})
	lines := []string{fmt.Sprintf("%d more pods like %s fit, on %d nodes.", a.Count, pod, a.NodesAll)}
	if g := a.Group; g != nil {
		lines[0] = fmt.Sprintf("%d more groups like %s fit, each with %d pods, on %d nodes.", g.Count, g.Root, g.Pods, a.NodesAll)
	}
	if a.Enough != nil {
		lines = append(lines, map[bool]string{true: fmt.Sprintf("%d fit.", in.Count), false: fmt.Sprintf("%d do not fit.", in.Count)}[*a.Enough])
	}
	if a.Stop != "" {
		lines = append(lines, "One more does not: "+a.Stop)
	}
	return reply{a, lines}, nil
}

// placeLeader puts a copy of a pod on the node where the first copy goes, alone, and returns the cluster with it.
func (q *question) placeLeader(stdin io.Reader, pod string) (node string, with io.Reader, err error) {
	var r room
	if err := q.run("place", place.Run, stdin, &r, "-how-many="+pod, "-feature-gates=GenericWorkload=false"); err != nil {
		return "", nil, fmt.Errorf("leader: %w", err)
	}
	if r.Count == 0 {
		why := ""
		if r.Stop != nil {
			why = r.Stop.Message
		}
		return "", nil, fmt.Errorf("leader: no node takes %s: %s", pod, why)
	}
	objects, err := dump.Read([]string{"-"}, stdin, dump.Options{})
	if err != nil {
		return "", nil, err
	}
	for _, p := range objects.Pods {
		if p.Namespace+"/"+p.Name == pod {
			c := p.DeepCopy()
			c.Name, c.UID, c.Spec.NodeName, c.Status = p.Name+"-leader", types.UID(pod+"-leader"), r.Nodes[0], v1.PodStatus{Phase: v1.PodRunning}
			objects.Pods = append(objects.Pods, c)
			break
		}
	}
	return r.Nodes[0], dump.Hold(objects), nil
}

// ofTemplate returns a new pod of a workload of the snapshot.
func (q *question) ofTemplate(name string) (*v1.Pod, error) {
	parts := strings.Split(name, "/")
	if len(parts) != 3 {
		return nil, fmt.Errorf("template: Invalid value: %q: must be kind/namespace/name, such as deployment/shop/web", name)
	}
	for kind, object := range q.snapshot.objects.All() {
		if !strings.EqualFold(kind.Kind, parts[0]) || object.GetNamespace() != parts[1] || object.GetName() != parts[2] {
			continue
		}
		t, _ := admission.Template(object)
		if t == nil {
			return nil, fmt.Errorf("template: Unsupported value: %q: a %s has no template", name, kind.Kind)
		}
		p := &v1.Pod{ObjectMeta: *t.ObjectMeta.DeepCopy(), Spec: *t.Spec.DeepCopy()}
		p.Namespace, p.Name, p.UID = parts[1], parts[2]+"-template", types.UID("template-of-"+name)
		p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(object, kind)}
		p.Status.Phase = v1.PodPending
		made, _, err := admission.Admit(p, q.snapshot.objects.Admission(), admission.Options{SkipChanges: true})
		if err != nil {
			return nil, fmt.Errorf("template: %w", err)
		}
		return made, nil
	}
	return nil, fmt.Errorf("template: Not found: %q: no object of that kind, namespace and name", name)
}
