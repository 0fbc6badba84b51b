package extender

import (
	"encoding/json"
	"flag"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	configurations = flag.Int("configurations", 400, "how many random configurations are loaded on both sides")
	seed           = flag.Uint64("config-seed", 1, "seed of the first configuration")
)

type object = map[string]any

// documents makes configurations. Most are correct, and some have a mistake.
type documents struct{ *rand.Rand }

// some returns true once in n calls, on average.
func (r documents) some(n int) bool { return r.IntN(n) == 0 }

func pick[T any](r documents, list ...T) T { return list[r.IntN(len(list))] }

var (
	plugins = []string{
		"SchedulingGates", "PrioritySort", "NodeUnschedulable", "NodeName", "TaintToleration", "NodeAffinity", "NodePorts",
		"NodeResourcesFit", "VolumeRestrictions", "NodeVolumeLimits", "VolumeBinding", "VolumeZone", "PodTopologySpread",
		"InterPodAffinity", "DynamicResources", "DefaultPreemption", "NodeResourcesBalancedAllocation", "ImageLocality",
		"DefaultBinder", "NodeDeclaredFeatures", "GangScheduling", "PodGroupPodsCount",
	}
	takes = map[string][]string{
		"preEnqueue": {"SchedulingGates", "DefaultPreemption"}, "queueSort": {"PrioritySort"},
		"preFilter":  {"NodeAffinity", "NodePorts", "NodeResourcesFit", "VolumeZone", "InterPodAffinity"},
		"filter":     {"NodeName", "TaintToleration", "NodeAffinity", "NodePorts", "NodeResourcesFit", "PodTopologySpread"},
		"postFilter": {"DefaultPreemption", "DynamicResources"},
		"preScore":   {"TaintToleration", "NodeAffinity", "InterPodAffinity"},
		"score":      {"TaintToleration", "NodeAffinity", "NodeResourcesFit", "ImageLocality", "VolumeBinding", "InterPodAffinity"},
		"reserve":    {"VolumeBinding"}, "permit": {"GangScheduling"}, "preBind": {"DynamicResources"}, "bind": {"DefaultBinder"},
		"postBind": {}, "multiPoint": plugins, "placementScore": {"NodeResourcesFit", "PodGroupPodsCount"}, "placementGenerate": {"TopologyPlacementGenerator"}, "podGroupPostFilter": {"DynamicResources", "DefaultPreemption"},
	}
	points = []string{
		"preEnqueue", "queueSort", "preFilter", "filter", "postFilter", "preScore", "score", "reserve", "permit", "preBind", "bind",
		"postBind", "multiPoint", "placementScore", "placementGenerate", "podGroupPostFilter",
	}
)

func (r documents) plugin(point string) string {
	if known := takes[point]; len(known) > 0 && !r.some(12) {
		return pick(r, known...)
	}
	return pick(r, append([]string{"Custom", "EBSLimits", ""}, plugins...)...)
}

func (r documents) set(point string) object {
	s := object{}
	var enabled, disabled []any
	for range r.IntN(4) {
		p := object{"name": r.plugin(point)}
		if r.some(2) {
			p["weight"] = pick(r, 0, 1, 2, 7, 100)
			if r.some(6) {
				p["weight"] = pick(r, -1, -3, -1000, 2147483647)
			}
		}
		enabled = append(enabled, p)
	}
	for range r.IntN(3) {
		name := r.plugin(point)
		if r.some(4) {
			name = "*"
		}
		disabled = append(disabled, object{"name": name})
	}
	if enabled != nil {
		s["enabled"] = enabled
	}
	if disabled != nil {
		s["disabled"] = disabled
	}
	return s
}

func (r documents) args() object {
	name := pick(r, "NodeResourcesFit", "NodeResourcesBalancedAllocation", "PodTopologySpread", "InterPodAffinity", "NodeAffinity",
		"DefaultPreemption", "VolumeBinding", "DynamicResources", "Custom", "EBSLimits", "NodeName")
	a := object{}
	specs := func() []any {
		var out []any
		for range r.IntN(3) {
			spec := object{"name": pick(r, "cpu", "memory", "a.b/c", "", "CPU")}
			if r.some(2) {
				spec["weight"] = pick(r, 1, 1, 0, 100, 101, -1)
			}
			out = append(out, spec)
		}
		return out
	}
	switch name {
	case "NodeResourcesFit":
		if r.some(2) {
			s := object{"type": pick(r, "LeastAllocated", "MostAllocated", "RequestedToCapacityRatio", "RequestedToCapacityRatio", "Foo")}
			if r.some(8) {
				delete(s, "type")
			}
			if r.some(2) {
				s["resources"] = specs()
			}
			if r.some(2) {
				var shape []any
				for k := range r.IntN(4) {
					shape = append(shape, object{"utilization": k*30 + pick(r, 0, 0, -31, 60), "score": pick(r, 0, 10, 5, 11, -1)})
				}
				s["requestedToCapacityRatio"] = object{"shape": shape}
			}
			a["scoringStrategy"] = s
		}
		if r.some(3) {
			a["ignoredResources"] = []any{pick(r, "a.b/c", "bad name", "cpu", "")}
		}
		if r.some(3) {
			a["ignoredResourceGroups"] = []any{pick(r, "a.b", "a.b/c", "", "bad name")}
		}
	case "NodeResourcesBalancedAllocation":
		a["resources"] = specs()
	case "PodTopologySpread":
		if r.some(2) {
			a["defaultingType"] = pick(r, "List", "List", "System", "Foo")
		}
		var list []any
		for range r.IntN(3) {
			c := object{"maxSkew": pick(r, 1, 2, 0, -1), "topologyKey": pick(r, "zone", "zone", "a b", ""), "whenUnsatisfiable": pick(r, "DoNotSchedule", "ScheduleAnyway", "X", "")}
			if r.some(6) {
				c["labelSelector"] = object{}
			}
			list = append(list, c)
		}
		if list != nil {
			a["defaultConstraints"] = list
		}
	case "InterPodAffinity":
		if r.some(2) {
			a["hardPodAffinityWeight"] = pick(r, 0, 1, 100, 101, -1)
		}
		a["ignorePreferredTermsOfExistingPods"] = r.some(2)
	case "NodeAffinity":
		term := func() object {
			return object{pick(r, "matchExpressions", "matchFields"): []any{object{
				"key": pick(r, "zone", "metadata.name", "a b"), "operator": pick(r, "In", "In", "Exists", "Foo", "Gt"), "values": []any{pick(r, "a", "1", "-")},
			}}}
		}
		added := object{}
		if r.some(2) {
			added["requiredDuringSchedulingIgnoredDuringExecution"] = object{"nodeSelectorTerms": []any{term(), term()}}
		}
		if r.some(2) {
			added["preferredDuringSchedulingIgnoredDuringExecution"] = []any{object{"weight": pick(r, 0, 1, 1000), "preference": term()}}
		}
		if !r.some(3) {
			a["addedAffinity"] = added
		}
	case "DefaultPreemption":
		if r.some(2) {
			a["minCandidateNodesPercentage"] = pick(r, 0, 10, 100, 101, -1)
		}
		if r.some(2) {
			a["minCandidateNodesAbsolute"] = pick(r, 0, 10, -1)
		}
	case "VolumeBinding":
		a["bindTimeoutSeconds"] = pick(r, 0, 600, -1)
		if r.some(6) {
			a["shape"] = []any{object{"utilization": 0, "score": 1}}
		}
	case "DynamicResources":
		a["filterTimeout"] = pick(r, "0s", "3s", "-1s", "10s")
		if r.some(2) {
			a["bindingTimeout"] = pick(r, "1s", "999ms", "10m")
		}
	}
	if r.some(25) {
		a["unknown"] = 1
	}
	if r.some(20) {
		a["kind"] = pick(r, name+"Args", "NodeAffinityArgs", "Foo")
		a["apiVersion"] = pick(r, "kubescheduler.config.k8s.io/v1", "kubescheduler.config.k8s.io/v1beta3", "v1")
	}
	entry := object{"name": name}
	if !r.some(10) {
		entry["args"] = a
	}
	return entry
}

func (r documents) extender() object {
	x := object{"urlPrefix": pick(r, "http://127.0.0.1:1/x/", "", "x")}
	if r.some(2) {
		x["filterVerb"] = "filter"
	}
	if r.some(2) {
		x["prioritizeVerb"] = "prioritize"
		x["weight"] = pick(r, 1, 1, 5, 0, -1)
	}
	if r.some(4) {
		x["bindVerb"] = "bind"
	}
	if r.some(3) {
		x["ignorable"] = true
	}
	if r.some(3) {
		x["httpTimeout"] = pick(r, "1s", "-1s", "0s")
	}
	var managed []any
	for range r.IntN(3) {
		managed = append(managed, object{"name": pick(r, "a.b/c", "d.e/f", "g.h/i", "cpu", "", "a.b/c d", "kubernetes.io/x", "requests.a/b"), "ignoredByScheduler": r.some(3)})
	}
	if managed != nil {
		x["managedResources"] = managed
	}
	return x
}

func (r documents) profile(name string) object {
	p := object{"schedulerName": name}
	if r.some(15) {
		delete(p, "schedulerName")
	}
	if r.some(3) {
		p["percentageOfNodesToScore"] = pick(r, 0, 50, 100, 101, -1)
	}
	if !r.some(3) {
		sets := object{}
		for range 1 + r.IntN(3) {
			at := points[r.IntN(len(points))]
			if r.some(3) {
				at = pick(r, "score", "multiPoint", "filter")
			}
			sets[at] = r.set(at)
		}
		p["plugins"] = sets
	}
	var args []any
	for range r.IntN(3) {
		args = append(args, r.args())
	}
	if args != nil {
		p["pluginConfig"] = args
	}
	return p
}

func (r documents) document() string {
	d := object{"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
	if r.some(4) {
		d["parallelism"] = pick(r, 1, 16, 64, 0, -2)
	}
	if r.some(4) {
		d["percentageOfNodesToScore"] = pick(r, 0, 30, 100, 101, -1)
	}
	if r.some(4) {
		d["podInitialBackoffSeconds"] = pick(r, 1, 5, 20, 0, -1)
	}
	if r.some(4) {
		d["podMaxBackoffSeconds"] = pick(r, 10, 5, 60, 0, -1)
	}
	if r.some(8) {
		d["clientConnection"] = object{"qps": pick(r, 1, -1), "burst": pick(r, 1, -1)}
	}
	if r.some(8) {
		d["leaderElection"] = object{"leaderElect": r.some(2), "leaseDuration": pick(r, "15s", "0s", "1s"), "resourceLock": pick(r, "leases", "endpoints", "")}
	}
	if r.some(30) {
		d["unknown"] = 1
	}
	var profiles, extenders []any
	for k := range r.IntN(4) {
		profiles = append(profiles, r.profile(pick(r, []string{"default-scheduler", "b", "c"}[k], []string{"default-scheduler", "b", "c"}[k], "a", "")))
	}
	if profiles != nil {
		d["profiles"] = profiles
	}
	if r.some(3) {
		for range 1 + r.IntN(2) {
			extenders = append(extenders, r.extender())
		}
		d["extenders"] = extenders
	}
	text, err := json.Marshal(d)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Both sides accept random configurations with the same meaning, or refuse them in the same words.
func TestRandomConfigurations(t *testing.T) {
	accepted := 0
	for k := range *configurations {
		s := *seed + uint64(k)
		t.Run("", func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("-config-seed %d -configurations 1", s)
				}
			}()
			if sameConfiguration(t, documents{rand.New(rand.NewPCG(s, 0))}.document()) {
				accepted++
			}
		})
	}
	if *configurations >= 100 {
		require.Greater(t, accepted, *configurations/20, "most were refused")
	}
	t.Logf("%d of %d accepted", accepted, *configurations)
}
