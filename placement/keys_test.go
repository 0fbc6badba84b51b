package placement

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podberth/podberth/cluster"
	"github.com/podberth/podberth/devices/tracker"
	"github.com/podberth/podberth/internal/podkey"
	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/overhead"
	"github.com/podberth/podberth/placement/internal/hooks"
)

// keyed is a rule, and the key of the fields that the rule reads of a pod.
type keyed struct {
	key    func(dst []byte, pod *v1.Pod) []byte
	also   func(dst []byte, pod *v1.Pod) []byte // other values that the answers depend on; nil: none
	answer func(pod *v1.Pod) string
}

// keyedRules returns every rule that has a key, over one cluster.
func keyedRules(s *cluster.Snapshot) map[string]keyed {
	out := map[string]keyed{}
	profile := DefaultProfile().over(s)
	plugin := func(name string, p *Plugin) {
		answer := func(pod *v1.Pod) string { return answers(p, pod, s) }
		out[name] = keyed{key: p.AppendKey, answer: answer}
		if p.AppendRowKey != nil {
			out[name+" rows"] = keyed{key: func(dst []byte, pod *v1.Pod) []byte { return p.AppendRowKey(dst, pod, s) }, answer: answer}
		}
		if p.states != nil {
			counting := p.states(s)
			if keyer, ok := counting.(hooks.PodKeyer); ok {
				out[name+" counts"] = keyed{key: ofPod(keyer), answer: answer}
				return
			}
			nodes := func(dst []byte, pod *v1.Pod) []byte { return podkey.Tolerations(podkey.NodeAffinity(dst, pod), pod) }
			out[name+" counts"] = keyed{key: ofCompiled(counting, hooks.Compiled.AppendKey), also: nodes, answer: answer}
			out[name+" layout"] = keyed{
				key:    ofCompiled(counting, func(c hooks.Compiled, dst []byte) []byte { return c.Count().AppendLayoutKey(dst) }),
				also:   nodes,
				answer: func(pod *v1.Pod) string { return domains(counting, pod, s.Len()) },
			}
		}
	}
	for _, p := range profile.Filters {
		plugin(p.Name, p)
	}
	for _, w := range profile.Scores {
		plugin(w.Plugin.Name, w.Plugin)
	}
	gpu := "example.com/gpu"
	class := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu"}, Spec: resourcev1.DeviceClassSpec{ExtendedResourceName: &gpu}}
	classes, err := cluster.New(cluster.Objects{DeviceClasses: []*resourcev1.DeviceClass{class}})
	if err != nil {
		panic(err)
	}
	plugin("devices", devicesOver(tracker.Options{}, tracker.New(s, tracker.Of(classes))))
	out["amounts"] = keyed{key: podkey.Requests, answer: func(pod *v1.Pod) string {
		return testkit.ShowResources(overhead.Requests(pod, overhead.Options{})) + " " + testkit.ShowResources(overhead.Limits(pod, overhead.Options{}))
	}}
	return out
}

// ofPod returns the key of a rule that finds it without compiling the pod. A pod that shares no answers has a key of its own.
func ofPod(keyer hooks.PodKeyer) func(dst []byte, pod *v1.Pod) []byte {
	return func(dst []byte, pod *v1.Pod) []byte {
		if k, ok := keyer.AppendPodKey(dst, pod); ok {
			return k
		}
		whole, err := json.Marshal(pod)
		if err != nil {
			panic(err)
		}
		return append(binary.AppendUvarint(append(dst, 2), uint64(len(whole))), whole...)
	}
}

// ofCompiled returns the key of the rule that the plugin compiles for a pod.
func ofCompiled(counting hooks.Counting, key func(c hooks.Compiled, dst []byte) []byte) func(dst []byte, pod *v1.Pod) []byte {
	return func(dst []byte, pod *v1.Pod) []byte {
		if c, err := counting.Compile(pod); err == nil && c != nil {
			return key(c, append(dst, 1))
		}
		return append(dst, 0) // no key
	}
}

// domains returns the domain of each slot, in which a pod's running pods are counted.
func domains(counting hooks.Counting, pod *v1.Pod, slots int) string {
	c, err := counting.Compile(pod)
	if err != nil || c == nil {
		return ""
	}
	c.AppendKey(nil)
	state := c.Count()
	state.AppendLayoutKey(nil)
	var all [][]int32
	for i := range slots {
		all = append(all, state.AppendDomains(nil, i))
	}
	return fmt.Sprint(all)
}

// answers returns all answers of a plugin about a pod.
func answers(p *Plugin, pod *v1.Pod, s *cluster.Snapshot) string {
	var b strings.Builder
	var slots []int32
	for i := range s.Len() {
		slots = append(slots, int32(i))
	}
	if p.Filter != nil {
		f := p.Filter(pod, s)
		fmt.Fprint(&b, f.Code, f.Reasons, f.Nodes)
		for _, i := range slots {
			if f.Predicate != nil {
				v := f.Predicate.Check(int(i))
				fmt.Fprint(&b, v, f.Predicate.Reasons(v))
			}
		}
	}
	if p.Score != nil {
		scorer, err := p.Score(pod, s)
		fmt.Fprint(&b, scorer == nil, err)
		if scorer != nil {
			if w, ok := scorer.(Weigher); ok {
				w.Weigh(slots, nil)
			}
			for _, i := range slots {
				fmt.Fprint(&b, " ", scorer.Raw(int(i)))
			}
		}
	}
	return b.String()
}

// TestEveryKey changes every field of a pod, one at a time, and holds for the key of each rule:
//
//  1. The key changes when the answers of the rule change. A key that forgets a field fails here.
//  2. No key begins with another key, so that keys can be appended to each other. A key that leaves out a length fails
//     here.
func TestEveryKey(t *testing.T) {
	testkit.Sequential(t)
	s := fieldsCluster(t)
	for rule, r := range keyedRules(s) {
		t.Run(rule, func(t *testing.T) {
			seen, changes := map[string]bool{}, 0
			both := func(pod *v1.Pod) string {
				k := string(r.key(nil, pod))
				seen[k] = true
				if r.also != nil {
					k = string(r.also([]byte(k), pod))
				}
				return k
			}
			for name, base := range keyPods() {
				before, answer := both(base), r.answer(base)
				pod := base.DeepCopy()
				grow := 0
				if name == "bare" || name == "empty" {
					grow = 4
				}
				try := func(path string) {
					if both(pod) == before {
						changes++
						require.Equal(t, answer, r.answer(pod), "%s%s changes the answer and not the key", name, path)
					}
				}
				alter(reflect.ValueOf(&pod.ObjectMeta).Elem(), "", grow, try)
				alter(reflect.ValueOf(&pod.Spec).Elem(), ".spec", grow, try)
			}
			require.Greater(t, changes, 1000)
			require.Greater(t, len(seen), 1, "the key never changes")
			var keys []string
			for k := range seen {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for k := range len(keys) - 1 {
				require.False(t, strings.HasPrefix(keys[k+1], keys[k]), "the key %q begins with another key, %q", keys[k+1], keys[k])
			}
		})
	}
}
