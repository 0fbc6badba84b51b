package pressure

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/internal/schema"
	"github.com/podberth/podberth/tools/program"
)

func nodepressure(stdin string, args ...string) (code int, stdout, stderr string) {
	return testkit.Program(Run, stdin, args)
}

func in(name string) string { return filepath.Join("testdata", name) }

// The output on the shipped inputs is asserted whole, in every form.
func TestShippedNodes(t *testing.T) {
	type test struct {
		name string
		args []string
	}
	testkit.Run(t, []test{
		{"memory", nil},
		{"disk-single", nil},
		{"disk-imagefs", []string{"-layout", "imagefs"}},
		{"disk-split", []string{"-layout", "split"}},
		{"pids", []string{"-kubelet", in("kubelet.yaml")}},
	}, func(t *testing.T, c test) {
		for form, ending := range map[string]string{"table": ".table", "json": ".out.json", "yaml": ".out.yaml"} {
			t.Run(form, func(t *testing.T) {
				args := append([]string{"-f", in("pods.yaml"), "-summary", in(c.name + ".json"), "-o", form}, c.args...)
				code, out, errs := nodepressure("", args...)
				require.Zero(t, code, errs)
				require.Empty(t, errs)
				testkit.Golden(t, in(c.name+ending), out)
				_, again, _ := nodepressure("", args...)
				require.Equal(t, out, again, "same input, same bytes")
			})
		}
	})
}

// One node over six minutes: soft grace, the eviction after it, the transition period.
func TestObservations(t *testing.T) {
	state := filepath.Join(t.TempDir(), "general-a1.state")
	type test struct {
		name, summary, at string
		conditions        []string
		victim            string
		why               string
	}
	testkit.Run(t, []test{
		{"within grace", "soft-1", "", []string{"MemoryPressure"}, "", "the condition comes at once, the eviction after 1m30s"},
		{"grace is over", "soft-2", "", []string{"MemoryPressure"}, "batch/report-4xk8b", "met without interruption for 1m40s"},
		{"nothing newer", "soft-2", "2026-03-02T08:21:50Z", []string{"MemoryPressure"}, "", "a measurement acts once"},
		{"recovered", "soft-3", "", []string{"MemoryPressure"}, "", "still in the transition period"},
		{"just before the end", "soft-3", "2026-03-02T08:26:49Z", []string{"MemoryPressure"}, "", "five minutes after 08:21:50"},
		{"transition is over", "soft-3", "2026-03-02T08:26:50Z", []string{}, "", "five minutes have passed"},
	}, func(t *testing.T, c test) {
		args := []string{"-f", in("pods.yaml"), "-kubelet", in("kubelet.yaml"), "-summary", in(c.summary + ".json"), "-state", state, "-o", "json"}
		if c.at != "" {
			args = append(args, "-at", c.at)
		}
		code, out, errs := nodepressure("", args...)
		require.Zero(t, code, errs)
		require.Empty(t, errs)
		testkit.Golden(t, in("day-"+strings.ReplaceAll(c.name, " ", "-")+".out.json"), out)
		var r struct {
			Conditions []string
			Victim     struct{ Pod string }
		}
		require.NoError(t, json.Unmarshal([]byte(out), &r))
		require.Equal(t, c.conditions, r.Conditions)
		require.Equal(t, c.victim, r.Victim.Pod)
	})
}

// A shipped state: the node has recovered and is in its transition period.
func TestTransitionPeriod(t *testing.T) {
	shipped, err := os.ReadFile(in("transition.state"))
	require.NoError(t, err)
	state := filepath.Join(t.TempDir(), "state")
	require.NoError(t, os.WriteFile(state, shipped, 0o644))
	code, out, errs := nodepressure("", "-f", in("pods.yaml"), "-kubelet", in("kubelet.yaml"), "-summary", in("soft-3.json"), "-state", state)
	require.Zero(t, code, errs)
	require.Empty(t, errs)
	testkit.Golden(t, in("transition.table"), out)
	require.Contains(t, out, "Conditions: MemoryPressure\n")
	require.Contains(t, out, "Acting:     none\n")
	require.Contains(t, out, "nothing changes by itself before 2026-03-02T08:26:40Z")
}

const (
	onePod = `apiVersion: v1
kind: Pod
metadata: {name: a, uid: u}
spec: {nodeName: n1, priority: 0, containers: [{name: c}], volumes: [{name: scratch, emptyDir: {sizeLimit: 1Mi}}]}
`
	oneNode = "---\napiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {capacity: {cpu: '2', memory: 4Gi}}\n"
	calm    = `{"node":{"nodeName":"n1","memory":{"time":"2026-03-02T08:00:00Z","availableBytes":2147483648,"workingSetBytes":2147483648}}}`
	low     = `{"node":{"memory":{"time":"2026-03-02T08:00:00Z","availableBytes":1048576,"workingSetBytes":4293918720}},"pods":[{"podRef":{"name":"a","namespace":"default","uid":""},"memory":{"workingSetBytes":5242880}}]}`
	config  = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
)

// files makes files in a folder of the test.
func files(t *testing.T, content map[string]string) func(name string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range content {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644))
	}
	return func(name string) string { return filepath.Join(folder, name) }
}

func TestCalmNode(t *testing.T) {
	at := files(t, map[string]string{"summary.json": calm})
	code, out, errs := nodepressure(onePod+oneNode, "-f", "-", "-summary", at("summary.json"), "-o", "json")
	require.Zero(t, code, errs)
	var r nodeReport
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Empty(t, r.Conditions)
	require.Nil(t, r.Victim)
	require.Nil(t, r.Forecast)
	require.Equal(t, "memory.available", string(r.RankedFor), "the ranking is there for a look ahead")
	require.Equal(t, "default/a", r.Ranking[0].Pod)
	require.Equal(t, map[string]string{"cpu": "2", "memory": "3996Mi"}, r.Allocatable)
	require.Contains(t, out, `"conditions": []`)
	require.Contains(t, out, `"reclaim": []`)

	_, out, _ = nodepressure(onePod+oneNode, "-f", "-", "-summary", at("summary.json"), "-o", "json", "-rank", "pid.available")
	require.Contains(t, out, `"rankedFor": "pid.available"`)
}

// Quantities that take minutes to parse are refused at once: of the kubelet's configuration, the state, the pods.
func TestQuantityText(t *testing.T) {
	const huge = "1e999999999"
	at := files(t, map[string]string{
		"summary.json":   calm,
		"threshold.yaml": config + "evictionHard: {memory.available: '" + huge + "'}\n",
		"reclaim.yaml":   config + "evictionMinimumReclaim: {memory.available: '" + huge + "'}\n",
		"reserved.yaml":  config + "kubeReserved: {memory: '" + huge + "'}\n",
		"bomb.yaml":      config + "a: &a " + strings.Repeat("x", 1<<19) + "\nb: [" + strings.Repeat("*a,", 100) + "]\n",
	})
	for name, want := range map[string]string{
		"threshold.yaml": "exponent between -99 and 99",
		"reclaim.yaml":   "exponent between -99 and 99",
		"reserved.yaml":  `kubeReserved[memory]: Invalid value: "1e999999999": must be a quantity`,
		"bomb.yaml":      "Too long: one object may have at most 16777216 bytes, aliases expanded",
	} {
		code, out, errs := nodepressure(onePod+oneNode, "-f", "-", "-summary", at("summary.json"), "-kubelet", at(name))
		require.Equal(t, 2, code)
		require.Empty(t, out)
		require.Contains(t, errs, want, name)
	}
}

// A pod without a UID on one side is known by its name, a summary without a name is that of the only node.
func TestSparseInput(t *testing.T) {
	at := files(t, map[string]string{"summary.json": low})
	for _, pod := range []string{onePod, strings.Replace(onePod, ", uid: u", "", 1)} {
		code, out, errs := nodepressure(pod+oneNode, "-f", "-", "-summary", at("summary.json"), "-o", "json")
		require.Zero(t, code, errs)
		require.Empty(t, errs)
		var r nodeReport
		require.NoError(t, json.Unmarshal([]byte(out), &r))
		require.Equal(t, "default/a", r.Victim.Pod)
		require.Equal(t, int64(1), r.Victim.GracePeriodSeconds)
		require.Equal(t, "5Mi", r.Ranking[0].Usage)
		require.False(t, r.Forecast.Cleared, "5Mi are not enough")
	}
}

// A pod over its own limit goes before anything that the node's state asks for.
func TestLocalStorage(t *testing.T) {
	over := strings.Replace(low, `"memory":{"workingSetBytes":5242880}`, `"volume":[{"name":"scratch","usedBytes":2097152}]`, 1)
	at := files(t, map[string]string{"summary.json": over, "kubelet.yaml": config + "localStorageCapacityIsolation: false\n"})
	code, out, errs := nodepressure(onePod+oneNode, "-f", "-", "-summary", at("summary.json"))
	require.Zero(t, code, errs)
	require.Contains(t, out, `Evict now:  default/a (grace 1s, over its own limit): Usage of EmptyDir volume "scratch" exceeds the limit "1Mi".`)
	require.Contains(t, out, "Acting:     none")

	_, out, _ = nodepressure(onePod+oneNode, "-f", "-", "-summary", at("summary.json"), "-kubelet", at("kubelet.yaml"))
	require.Contains(t, out, "Acting:     memory.available", "the limits are off")
}

func TestWarnings(t *testing.T) {
	at := files(t, map[string]string{
		"summary.json": strings.Replace(low, `"node":{`, `"node":{"nodeName":"n2",`, 1),
		"kubelet.yaml": config + "evictionHurd: {}\n",
	})
	args := []string{"-f", "-", "-summary", at("summary.json"), "-kubelet", at("kubelet.yaml")}
	code, _, errs := nodepressure(onePod, args...)
	require.Zero(t, code)
	require.Contains(t, errs, `warning: none of the 1 pod(s) of the input has spec.nodeName "n2"`)
	require.Contains(t, errs, "warning: the input has no Node; if the cluster has such objects, they could change the answer: kubectl get nodes -A -o yaml")
	_, _, other := nodepressure(onePod+oneNode, args...)
	require.Contains(t, other, "warning: Node n2 is not in the input: allocatable is not known")
	require.Contains(t, errs, `unknown field "evictionHurd"; the kubelet ignores it, too`)
	require.Contains(t, errs, "1 pod(s) of the summary are not on n2 in the input and take no part, the first is default/a")
	code, out, _ := nodepressure(onePod, append(args, "-strict")...)
	require.Equal(t, program.BadInput, code)
	require.Empty(t, out)
}

// A file that another flag wants is refused with the names of both flags.
func TestSwappedFiles(t *testing.T) {
	const objects, summary = "Kubernetes objects: the pods and their node", "a stats summary, which kubectl get --raw /api/v1/nodes/NODE/proxy/stats/summary prints"
	type test struct {
		name string
		args []string
		want string
	}
	summaryText, err := os.ReadFile(in("disk-single.json"))
	require.NoError(t, err)
	at := files(t, map[string]string{"summary.json": string(summaryText)})
	testkit.Run(t, []test{
		{"both", []string{"-f", in("memory.json"), "-summary", in("pods.yaml")}, `-summary: Invalid value: "testdata/pods.yaml": the file goes to -f, it holds ` + objects + "; -summary takes " + summary},
		{"a summary for -f", []string{"-f", in("memory.json"), "-summary", in("memory.json")}, `-f: Invalid value: "testdata/memory.json": the file goes to -summary, it holds ` + summary + "; -f takes " + objects},
		{"a configuration for -f", []string{"-f", in("kubelet.yaml"), "-summary", in("memory.json")}, `-f: Invalid value: "testdata/kubelet.yaml": the file goes to -kubelet, it holds a KubeletConfiguration`},
		{"a configuration for -summary", []string{"-f", in("pods.yaml"), "-summary", in("kubelet.yaml")}, `-summary: Invalid value: "testdata/kubelet.yaml": the file goes to -kubelet`},
		{"pods for -kubelet", []string{"-f", in("pods.yaml"), "-summary", in("memory.json"), "-kubelet", in("pods.yaml")}, `-kubelet: Invalid value: "testdata/pods.yaml": the file goes to -f`},
		{"a summary for -kubelet", []string{"-f", in("pods.yaml"), "-summary", in("memory.json"), "-kubelet", in("disk-single.json")}, `-kubelet: Invalid value: "testdata/disk-single.json": the file goes to -summary`},
		{"a state for -summary", []string{"-f", in("pods.yaml"), "-summary", in("transition.state")}, `-summary: Invalid value: "testdata/transition.state": the file goes to -state, it holds what an earlier run has written`},
		{"a summary for -state", []string{"-f", in("pods.yaml"), "-summary", in("memory.json"), "-state", at("summary.json")}, `-state: Invalid value: "` + at("summary.json") + `": the file goes to -summary`},
	}, func(t *testing.T, c test) {
		code, out, errs := nodepressure("", c.args...)
		require.Equal(t, program.BadInput, code)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
		require.Equal(t, 1, strings.Count(errs, "\n"))
	})
	pods, err := os.ReadFile(in("pods.yaml"))
	require.NoError(t, err)
	code, _, errs := nodepressure(string(pods), "-f", in("pods.yaml"), "-summary", "-")
	require.Equal(t, program.BadInput, code)
	require.Contains(t, errs, "standard input", "standard input is read once")
}

// A pod that the summary has no statistics of has no usage.
func TestPodsWithoutStatistics(t *testing.T) {
	at := files(t, map[string]string{"summary.json": calm})
	_, out, _ := nodepressure(onePod+oneNode, "-f", "-", "-summary", at("summary.json"))
	require.Regexp(t, `(?m)^1 +default/a +no +0 +unknown +0 `, out)
	_, out, _ = nodepressure(onePod+oneNode, "-f", "-", "-summary", at("summary.json"), "-o", "json")
	var r nodeReport
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.False(t, r.Ranking[0].Measured)
	require.Empty(t, r.Ranking[0].Usage)
}

// -n prints the pods of a namespace with their ranks among all; -no-headers leaves out headers.
func TestNamespaceAndHeaders(t *testing.T) {
	args := []string{"-f", in("pods.yaml"), "-summary", in("memory.json"), "-o", "json"}
	ranking := func(more ...string) (ranking []rankedPod) {
		_, out, _ := nodepressure("", append(args, more...)...)
		var r nodeReport
		require.NoError(t, json.Unmarshal([]byte(out), &r))
		return r.Ranking
	}
	all, some := ranking(), ranking("-n", "shop")
	require.Greater(t, len(all), len(some))
	require.NotEmpty(t, some)
	for _, p := range some {
		require.Equal(t, "shop", p.Namespace)
		require.Equal(t, all[p.Rank-1], p)
	}
	_, out, _ := nodepressure("", "-f", in("pods.yaml"), "-summary", in("memory.json"), "-no-headers")
	require.NotContains(t, out, "SIGNAL")
	require.NotContains(t, out, "OVER REQUEST")
}

// The outputs, which the tests above compare with what is printed, have the form of the schema, and the schema that of the type.
func TestSchema(t *testing.T) {
	schema.Check(t, testkit.Golden, map[string]any{"NodePressure": nodeReport{}}, nil, nil)
}

// Bad input: one line on standard error, nothing on standard output, no state written, exit 2.
func TestBadInput(t *testing.T) {
	state := func(s string) string {
		return strings.Replace(`{"node":"n1","at":"2026-03-02T08:00:00Z","state":{"layout":"single"}}`, "}}", s+"}}", 1)
	}
	type test struct {
		name    string
		content map[string]string
		args    []string
		want    string
	}
	testkit.Run(t, []test{
		{"memory is text", map[string]string{"summary.json": strings.Replace(calm, "2147483648", `"2Gi"`, 1)}, nil, `summary.json: node.memory.availableBytes: Invalid value: "2Gi": must be an integer that is not negative`},
		{"negative memory", map[string]string{"summary.json": strings.Replace(calm, "2147483648", "-1", 1)}, nil, `node.memory.availableBytes: Invalid value: -1: must be an integer that is not negative`},
		{"a time that is none", map[string]string{"summary.json": strings.Replace(calm, "2026-03-02T08:00:00Z", "today", 1)}, nil, `node.memory.time: Invalid value: "today": must be a time such as 2026-03-02T08:00:00Z`},
		{"an empty summary", map[string]string{"summary.json": ""}, nil, "summary.json: is empty"},
		{"a summary of nobody", map[string]string{"summary.json": `{"node":{}}`}, nil, "node.nodeName: Required value"},
		{"not a configuration", map[string]string{"kubelet.yaml": "kind: Pod\n"}, nil, `kubelet.yaml": the file goes to -f, it holds Kubernetes objects`},
		{"unknown signal", map[string]string{"kubelet.yaml": config + "evictionHard: {mem: 1Gi}\n"}, nil, `kubelet.yaml: evictionHard[mem]: Invalid value: "1Gi": unsupported eviction signal mem`},
		{"bad percentage", map[string]string{"kubelet.yaml": config + "evictionHard: {memory.available: 101%}\n"}, nil, `evictionHard[memory.available]: Invalid value: "101%": eviction percentage threshold memory.available must be <= 100%: 101%`},
		{"soft without grace", map[string]string{"kubelet.yaml": config + "evictionSoft: {memory.available: 1Gi}\n"}, nil, "grace period must be specified for the soft eviction threshold memory.available"},
		{"negative reclaim", map[string]string{"kubelet.yaml": config + "evictionMinimumReclaim: {memory.available: -1Gi}\n"}, nil, `evictionMinimumReclaim[memory.available]: Invalid value: "-1Gi": negative eviction minimum reclaim specified for memory.available`},
		{"not a duration", map[string]string{"kubelet.yaml": config + "evictionPressureTransitionPeriod: soon\n"}, nil, `kubelet.yaml: evictionPressureTransitionPeriod: Invalid value: "soon": must be a duration such as 90s or 5m`},
		{"negative transition", map[string]string{"kubelet.yaml": config + "evictionPressureTransitionPeriod: -5m\n"}, nil, `evictionPressureTransitionPeriod: Invalid value: "-5m0s": must not be negative`},
		{"bad reservation", map[string]string{"kubelet.yaml": config + "kubeReserved: {memory: lots}\n"}, nil, `kubelet.yaml: kubeReserved[memory]: Invalid value: "lots": must be a quantity`},
		{"negative reservation", map[string]string{"kubelet.yaml": config + "systemReserved: {cpu: -1}\n"}, nil, `systemReserved[cpu]: Invalid value: -1: must be a string`},
		{"negative reserved text", map[string]string{"kubelet.yaml": config + "systemReserved: {cpu: '-1'}\n"}, nil, `systemReserved[cpu]: Invalid value: "-1": must not be negative`},
		{"reserving gpus", map[string]string{"kubelet.yaml": config + "systemReserved: {gpu: '1'}\n"}, nil, `systemReserved[gpu]: Unsupported value: "gpu": supported values: cpu, ephemeral-storage, memory, pid`},
		{"two configurations", map[string]string{"kubelet.yaml": config + "---\n" + config}, nil, "kubelet.yaml: must hold a single document"},
		{"a state of another node", map[string]string{"state": strings.Replace(state(""), "n1", "n7", 1)}, nil, `state: node: Invalid value: "n7": must be "n1"`},
		{"a state of tomorrow", map[string]string{"state": strings.Replace(state(""), "03-02", "03-03", 1)}, nil, `-at: Invalid value: "2026-03-02T08:00:00Z": must not be before 2026-03-03T08:00:00Z`},
		{"another layout", map[string]string{"state": state("")}, []string{"-layout", "split"}, `-layout: Invalid value: "split": must be "single", that of `},
		{"a state that is none", map[string]string{"state": state(`,"mood":"good"`)}, nil, `state: unknown field "state.mood"`},
		{"a state without a layout", map[string]string{"state": `{"node":"n1"}`}, nil, `state.layout: Unsupported value: ""`},
		{"unknown layout", nil, []string{"-layout", "raid"}, `-layout: Unsupported value: "raid": supported values: single, imagefs, split`},
		{"unknown output", nil, []string{"-o", "xml"}, `-o: Unsupported value: "xml"`},
		{"unknown signal to rank", nil, []string{"-rank", "mood"}, `-rank: Unsupported value: "mood"`},
		{"a time without a zone", nil, []string{"-at", "noon"}, `-at: Invalid value: "noon"`},
		{"standard input twice", nil, []string{"-kubelet", "-"}, "standard input can be read once only"},
		{"an argument", nil, []string{"x"}, `unexpected argument "x"`},
	}, func(t *testing.T, c test) {
		content := map[string]string{"summary.json": calm, "kubelet.yaml": config}
		for name, text := range c.content {
			content[name] = text
		}
		at := files(t, content)
		args := []string{"-f", "-", "-summary", at("summary.json"), "-state", at("state")}
		if c.name != "standard input twice" {
			args = append(args, "-kubelet", at("kubelet.yaml"))
		}
		code, out, errs := nodepressure(onePod, append(args, c.args...)...)
		require.Equal(t, program.BadInput, code)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
		require.Equal(t, 1, strings.Count(errs, "\n"), "one line: %q", errs)
		left, err := os.ReadFile(at("state"))
		if c.content["state"] == "" {
			require.ErrorIs(t, err, os.ErrNotExist)
		} else {
			require.NoError(t, err)
			require.Equal(t, c.content["state"], string(left), "the state is as it was")
		}
	})
	type test2 struct {
		name string
		args []string
		want string
	}
	testkit.Run(t, []test2{
		{"no pods", nil, "-f: Required value"},
		{"no summary", []string{"-f", in("pods.yaml")}, "-summary: Required value"},
		{"no such file", []string{"-f", in("pods.yaml"), "-summary", in("none.json")}, "none.json"},
		{"a state that cannot be written", []string{"-f", in("pods.yaml"), "-summary", in("memory.json"), "-state", in("none/state")}, "none/state"},
	}, func(t *testing.T, c test2) {
		code, out, errs := nodepressure("", c.args...)
		require.Equal(t, program.BadInput, code)
		require.Empty(t, out)
		require.Contains(t, errs, c.want)
	})
	code, help, errs := nodepressure("", "-h")
	require.Zero(t, code)
	require.Empty(t, errs)
	require.Contains(t, help, "Usage:\n  pressure -f PATH")
	require.NotRegexp(t, `(?m)^  -\S+ (value|int|uint|string|float|duration)$|default -`, help, "flags have their own words and no internal defaults")
}

// A dump with what the kubelets answer needs no other file. -node chooses, -summary and -kubelet take the place of the answers.
func TestKubelets(t *testing.T) {
	const other = "---\napiVersion: podberth.io/v1alpha1\nkind: Kubelet\nmetadata: {name: n2}\nsummary: {node: {nodeName: n2}}\n"
	kubelet, err := Kubelet("n1", []byte(low), []byte(`{"kubeletconfig":{"evictionHard":{"memory.available":"20Mi"},"clusterDNS":["10.0.0.10"]}}`))
	require.NoError(t, err)
	object, err := json.Marshal(kubelet)
	require.NoError(t, err)
	require.NotContains(t, string(object), "clusterDNS")
	base := onePod + oneNode
	path := files(t, map[string]string{
		"dump.yaml": base, "one.yaml": base + "---\n" + string(object) + "\n", "two.yaml": base + "---\n" + string(object) + "\n" + other,
		"low.json": low, "calm.json": calm, "kubelet.yaml": config + "evictionHard: {memory.available: 20Mi}\n",
		"bare.yaml":  base + "---\napiVersion: podberth.io/v1alpha1\nkind: Kubelet\nmetadata: {name: n1}\nsummary: {node: {}}\n",
		"wrong.yaml": base + "---\napiVersion: podberth.io/v1alpha1\nkind: Kubelet\nmetadata: {name: n1}\nsummary: {node: {}}\nconfiguration: {evictionHard: {memory.available: 1X}}\n",
	})
	code, want, errs := nodepressure("", "-f", path("dump.yaml"), "-summary", path("low.json"), "-kubelet", path("kubelet.yaml"))
	require.Zero(t, code, errs)
	require.Contains(t, want, "20Mi")
	for name, args := range map[string][]string{
		"the only node": {"-f", path("one.yaml")}, "one of two": {"-f", path("two.yaml"), "-node", "n1"},
		"stats from a file": {"-f", path("two.yaml"), "-summary", path("low.json"), "-node", "n1"},
		"all from files":    {"-f", path("bare.yaml"), "-summary", path("low.json"), "-kubelet", path("kubelet.yaml")},
	} {
		code, got, errs := nodepressure("", args...)
		require.Zero(t, code, "%s: %s", name, errs)
		require.Equal(t, want, got, name)
	}
	_, _, errs = nodepressure("", "-f", path("bare.yaml"))
	require.Contains(t, errs, "Kubelet n1 has no configuration: the kubelet's defaults are taken; -kubelet FILE gives a configuration")
	for want, args := range map[string][]string{
		"-summary: Required value: the input has no stats of nodes; kubectl get --raw /api/v1/nodes/NODE/proxy/stats/summary prints them": {"-f", path("dump.yaml")},
		"-summary: Required value: the input has no stats of node n3; kubectl get --raw /api/v1/nodes/n3/proxy/stats/summary prints them": {"-f", path("two.yaml"), "-node", "n3"},
		"-node: Required value: the input has the stats of 2 nodes, the first is n1":                                                      {"-f", path("two.yaml")},
		`-node: Invalid value: "n2": must be "n1", the node of ` + path("calm.json"):                                                      {"-f", path("two.yaml"), "-node", "n2", "-summary", path("calm.json")},
		`Kubelet n1: evictionHard[memory.available]: Invalid value: "1X":`:                                                                {"-f", path("wrong.yaml")},
	} {
		code, out, errs := nodepressure("", args...)
		require.Equal(t, 2, code)
		require.Empty(t, out)
		require.Contains(t, errs, "pressure: "+want)
	}
	for want, answers := range map[string][2]string{
		"stats/summary: node: Required value: the kubelet gives no stats of the node": {"{}", ""},
		"configz: kubeletconfig: Required value: the kubelet gives no configuration":  {"", "{}"},
		"configz: invalid character 'x' looking for beginning of value":               {calm, "x"},
		"stats/summary: invalid character 'x' looking for beginning of value":         {"x", "{}"},
	} {
		_, err := Kubelet("n1", []byte(answers[0]), []byte(answers[1]))
		require.EqualError(t, err, want)
	}
}
