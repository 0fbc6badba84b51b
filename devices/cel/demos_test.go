package cel_test

import (
	"bytes"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/podberth/podberth/devices"
	"github.com/podberth/podberth/devices/cel"
	"github.com/podberth/podberth/filter"
	"github.com/podberth/podberth/internal/testkit"
)

// The use cases that drivers document, as small clusters. The pods of a file come one after the other and take the first
// node that serves them. The lines "#=" of a file say what each pod gets.
func TestDemos(t *testing.T) {
	files, err := filepath.Glob("testdata/demos/*.yaml")
	require.NoError(t, err)
	type test struct{ name, why string }
	tests := []test{
		{"single", "each pod has a GPU of its own"},
		{"containers", "containers of one pod share a claim or have their own"},
		{"shared", "two pods share a claim"},
		{"partitions", "partitions of one GPU take from the counters of the whole GPU"},
		{"time-slices", "a share takes memory and time of one GPU"},
		{"extended-resource", "a device plugin or a device class provides a resource"},
		{"admin-access", "a monitor takes no GPU away"},
		{"prioritised-list", "one large GPU, or else two small GPUs"},
	}
	require.Len(t, files, len(tests))
	testkit.Run(t, tests, func(t *testing.T, c test) {
		text, err := os.ReadFile(filepath.Join("testdata", "demos", c.name+".yaml"))
		require.NoError(t, err)
		var want []string
		for _, line := range strings.Split(string(text), "\n") {
			if x, ok := strings.CutPrefix(line, "#= "); ok {
				want = append(want, x)
			}
		}
		require.Equal(t, strings.Join(want, "\n"), strings.Join(loadDemo(t, text).run(), "\n"))
	})
}

// demo is the cluster of one file.
type demo struct {
	t         *testing.T
	nodes     nodes
	pods      []*v1.Pod
	slices    []*resourcev1.ResourceSlice
	classes   map[string]*resourcev1.DeviceClass
	templates map[string]*resourcev1.ResourceClaimTemplate
	claims    map[string]*resourcev1.ResourceClaim
}

func loadDemo(t *testing.T, text []byte) *demo {
	d := &demo{t: t, classes: map[string]*resourcev1.DeviceClass{}, templates: map[string]*resourcev1.ResourceClaimTemplate{}, claims: map[string]*resourcev1.ResourceClaim{}}
	for _, part := range bytes.Split(text, []byte("\n---\n")) {
		var kind metav1.TypeMeta
		require.NoError(t, yaml.Unmarshal(part, &kind))
		switch kind.Kind {
		case "Node":
			d.nodes = append(d.nodes, decode[v1.Node](t, part))
		case "Pod":
			d.pods = append(d.pods, decode[v1.Pod](t, part))
		case "ResourceSlice":
			d.slices = append(d.slices, decode[resourcev1.ResourceSlice](t, part))
		case "DeviceClass":
			x := decode[resourcev1.DeviceClass](t, part)
			d.classes[x.Name] = x
		case "ResourceClaimTemplate":
			x := decode[resourcev1.ResourceClaimTemplate](t, part)
			d.templates[x.Name] = x
		case "ResourceClaim":
			x := decode[resourcev1.ResourceClaim](t, part)
			d.claims[x.Name] = x
		default:
			require.Equal(t, "Namespace", kind.Kind)
		}
	}
	return d
}

func decode[T any](t *testing.T, part []byte) *T {
	x := new(T)
	require.NoError(t, yaml.UnmarshalStrict(part, x))
	return x
}

type nodes []*v1.Node

func (n nodes) Len() int            { return len(n) }
func (n nodes) Node(i int) *v1.Node { return n[i] }

func (d *demo) ResourceClaim(_, name string) *resourcev1.ResourceClaim { return d.claims[name] }
func (d *demo) ResourceClaims(string) iter.Seq[*resourcev1.ResourceClaim] {
	return maps.Values(d.claims)
}
func (d *demo) InFlight(types.UID) bool                         { return false }
func (d *demo) DeviceClass(name string) *resourcev1.DeviceClass { return d.classes[name] }

func (d *demo) run() (out []string) {
	ledger := devices.NewLedger(devices.NewInventory(d.slices), slices.Collect(maps.Values(d.claims))...)
	allocator := devices.NewAllocator(ledger, d.DeviceClass, cel.NewCompiler(), devices.Options{})
	for _, pod := range d.pods {
		for _, entry := range pod.Spec.ResourceClaims { // as the resource claim controller does
			if entry.ResourceClaimTemplateName == nil {
				continue
			}
			template := d.templates[*entry.ResourceClaimTemplateName]
			require.NotNil(d.t, template, *entry.ResourceClaimTemplateName)
			c := devices.ClaimFromTemplate(pod, entry.Name, template, "x")
			d.claims[c.Name] = c
			pod.Status.ResourceClaimStatuses = append(pod.Status.ResourceClaimStatuses, v1.PodResourceClaimStatus{Name: entry.Name, ResourceClaimName: &c.Name})
		}
		out = append(out, pod.Name+" "+d.schedule(pod, ledger, allocator))
	}
	return out
}

// schedule writes the claims of a pod for the first node that serves the pod, or for the node that the pod names.
func (d *demo) schedule(pod *v1.Pod, ledger *devices.Ledger, allocator *devices.Allocator) string {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	compiled := devices.Compile(pod, d, devices.NewExtendedResources(maps.Values(d.classes)))
	require.Equal(d.t, filter.Success, compiled.Code(), compiled.Reason())
	state := compiled.On(d.nodes, allocator, devices.Clock{Now: now})
	var reasons []string
	for i, node := range d.nodes {
		if pod.Spec.NodeName != "" && pod.Spec.NodeName != node.Name {
			continue
		}
		if v := state.Check(i); v != 0 {
			reasons = append(reasons, state.Reasons(v)...)
			continue
		}
		allocation := state.Allocation(i)
		var list []string
		reserved := map[string]*resourcev1.AllocationResult{}
		for k, c := range allocation.Claims {
			reserved[c.Name] = &allocation.Results[k]
			list = append(list, allocated(&allocation.Results[k]))
			ledger.Add(nil, &allocation.Results[k])
		}
		for _, c := range compiled.Claims() {
			if c.UID == "" && reserved[c.Name] == nil {
				continue
			}
			bound, err := devices.Bound(c, pod, reserved[c.Name], now)
			require.NoError(d.t, err)
			d.claims[c.Name] = bound
		}
		return fmt.Sprintf("on %s: %s", node.Name, demoText(list, compiled.Claims(), allocation.Mappings))
	}
	return "nowhere: " + strings.Join(reasons, ", ")
}

func demoText(list []string, claims []*resourcev1.ResourceClaim, mappings []v1.ContainerExtendedResourceRequest) string {
	text := strings.Join(list, "; ")
	var uses []string
	for _, m := range mappings {
		uses = append(uses, m.ContainerName+" "+m.ResourceName+" "+m.RequestName)
	}
	switch {
	case len(uses) > 0:
		return text + " (" + strings.Join(uses, ", ") + ")"
	case text == "" && claims[0].Status.Allocation != nil:
		return "shares the allocation"
	case text == "":
		return "nothing"
	}
	return text
}

// allocated prints the devices of one claim. "!" marks admin access; what a share consumes is in parentheses.
func allocated(r *resourcev1.AllocationResult) string {
	var out []string
	for _, x := range r.Devices.Results {
		text := x.Request + "=" + x.Device
		if x.AdminAccess != nil {
			text += "!"
		}
		if x.ShareID != nil {
			var amounts []string
			for _, name := range slices.Sorted(maps.Keys(x.ConsumedCapacity)) {
				q := x.ConsumedCapacity[name]
				amounts = append(amounts, string(name)+" "+q.String())
			}
			text += " (" + strings.Join(amounts, ", ") + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}
