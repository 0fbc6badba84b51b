package place

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// Gangs are placed whole or not at all; what holds the others is said of them and of their pods.
func TestGangs(t *testing.T) {
	type test struct {
		name, file string
		args       []string
	}
	testkit.Run(t, []test{
		{"table", "testdata/gangs.txt", nil},
		{"wide", "testdata/gangs_wide.txt", []string{"-o", "wide"}},
		{"json", "testdata/gangs.json", []string{"-o", "json"}},
		{"pods alone", "testdata/gangs_off.txt", []string{"-feature-gates", "GenericWorkload=false"}},
		{"log", "testdata/gangs_log.txt", []string{"-log", "-"}},
		{"why a member waits", "testdata/gangs_why_waits.txt", []string{"-explain", "default/large-1"}},
		{"why a group is held", "testdata/gangs_why_held.txt", []string{"-explain", "default/few-0"}},
		{"why a pod without its group waits", "testdata/gangs_why_lost.txt", []string{"-explain", "default/lost-0"}},
		{"why a group waits", "testdata/gangs_why_group.txt", []string{"-explain", "podgroup/large"}},
		{"why a group waits in json", "testdata/gangs_why_group.json", []string{"-explain", "podgroup/large", "-o", "json"}},
		{"why a member goes where it goes", "testdata/gangs_why_goes.json", []string{"-explain", "default/train-2", "-o", "json"}},
	}, func(t *testing.T, c test) {
		code, out, errs := simulate(t, "", append([]string{"-f", "testdata/gangs.yaml"}, c.args...)...)
		require.Zero(t, code, errs)
		testkit.Golden(t, c.file, out)
	})
}

// Composite groups are counted by their children: a tree that is placed, one that waits, and one whose root has no object.
func TestTrees(t *testing.T) {
	for file, args := range map[string][]string{"gang_trees.txt": nil, "gang_trees.json": {"-o", "json"}} {
		code, out, errs := simulate(t, "", append([]string{"-f", "testdata/gang_trees.yaml"}, args...)...)
		require.Zero(t, code, errs)
		testkit.Golden(t, "testdata/"+file, out)
	}
	_, out, _ := simulate(t, "", "-f", "testdata/gang_trees.yaml", "-n", "other")
	require.NotContains(t, out, "COMPOSITE", "of another namespace")
}

// A gang that kube-scheduler gives up although a placement exists: the first lines say so, for the group and for each member.
func TestWhyGangWaits(t *testing.T) {
	const why = `1 of 2 members fit, 2 needed: trap-1 asks for cpu 4, and both open nodes are too full: big is nearest with 2 of 4 free
a placement exists: kube-scheduler misses it because it puts trap-0 on big first, then trap-1 fits nowhere, and it takes no member back
`
	const help = `Do: make the pods again in the order trap-1, trap-0
Do: nominate trap-0 to small (status.nominatedNodeName)
`
	for name, state := range map[string]string{
		"podgroup/trap":  "Pod default/trap-0 in group trap: would fit but the group fails.\n",
		"default/trap-0": "Pod default/trap-0 in group trap: would fit but the group fails.\n",
		"default/trap-1": "Pod default/trap-1 in group trap: rejected itself.\n",
	} {
		code, out, errs := simulate(t, "", "-f", "testdata/gang_trap.yaml", "-explain", name)
		require.Zero(t, code, errs)
		require.True(t, strings.HasPrefix(out, why+state+help), "%s\n%s", name, out)
	}
	code, out, errs := simulate(t, "", "-f", "testdata/gang_trap.yaml", "-o", "html")
	require.Zero(t, code, errs)
	require.Contains(t, out, "1 of 2 members fit, 2 needed: trap-1 asks for cpu 4, and both open nodes are too full: big is nearest with 2 of 4 free", "the page says it too")
	code, _, errs = simulate(t, "", "-f", "testdata/gang_trap.yaml", "-explain", "podgroup/none")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "podgroup/none")
}

// A group that comes, changes and goes while pods wait.
func TestGangsOfATimeline(t *testing.T) {
	cluster, err := os.ReadFile("testdata/gangs.yaml")
	require.NoError(t, err)
	timeline := t.TempDir() + "/timeline.yaml"
	require.NoError(t, os.WriteFile(timeline, []byte(`
- at: 10s
  add: {apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: lost}, spec: {schedulingPolicy: {basic: {}}}}
- at: 20s
  update: {apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: few}, spec: {schedulingPolicy: {gang: {minCount: 2}}}}
- at: 400s
  delete: {apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: lost}}
`), 0o600))
	code, out, errs := simulate(t, string(cluster), "-f", "-", "-timeline", timeline)
	require.Zero(t, code, errs)
	for _, pod := range []string{"lost-0", "few-0", "few-1"} {
		require.Regexp(t, pod+` +0 +Scheduled`, out)
	}
	require.Regexp(t, `large +3 +3 +0 +Unschedulable`, out)
	require.Regexp(t, `few +2 +2 +2 +Scheduled`, out, "the group as it became")
	require.NotRegexp(t, `default +lost +1`, out, "it is gone")
}

// A composite group that comes lets the pods below it in; one that goes holds them. A change of it alone wakes nobody, as in v1.37.2.
func TestTreesOfATimeline(t *testing.T) {
	cluster, err := os.ReadFile("testdata/gang_trees.yaml")
	require.NoError(t, err)
	const composite = `{apiVersion: scheduling.k8s.io/v1alpha3, kind: CompositePodGroup, metadata: {name: %s}, spec: {workloadRef: {workloadName: w, templateName: %[1]s}, schedulingPolicy: {gang: {minGroupCount: %d}}}}`
	late := fmt.Sprintf(composite, "late", 1)
	type test struct {
		name, why, timeline string
		code                int
		want                []string // patterns of the output
		not                 string   // what is not in it
	}
	testkit.Run(t, []test{
		{"comes", "its pod goes to a node", "- at: 10s\n  add: " + late, 0, []string{`orphan-0 +0 +Scheduled`, `default +orphan +1 +1 +1 +Scheduled`, `default +late +1 +1 +1 +podgroup/orphan`}, ""},
		{"comes twice", "the second is an error", "- at: 10s\n  add: " + late + "\n- at: 11s\n  add: " + late, 2, []string{`event 2: metadata.name: Duplicate value: "late"`}, ""},
		{"goes", "the pods that wait are held", "- at: 10s\n  delete: " + fmt.Sprintf(composite, "large", 2) + `
- at: 400s
  add: {apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}`, 0, []string{`default +a +1 +1 +0 `, `default +b +1 +1 +0 `}, "podgroup/a"},
		{"stays", "with the composite the new node takes the pods", `
- at: 400s
  add: {apiVersion: v1, kind: Node, metadata: {name: n2}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}`, 0, []string{`default +a +1 +1 +1 +Scheduled`, `default +large +2 +2 +2 +podgroup/a,podgroup/b`}, ""},
		{"labels", "an update of a composite wakes nobody", "- at: 10s\n  update: " + strings.Replace(fmt.Sprintf(composite, "large", 2), "name: large", "name: large, labels: {a: b}", 1), 0, []string{`a-0 +0 +Unschedulable`, `default +large +2 +2 +0 +podgroup/a,podgroup/b`}, ""},
	}, func(t *testing.T, c test) {
		timeline := t.TempDir() + "/timeline.yaml"
		require.NoError(t, os.WriteFile(timeline, []byte(c.timeline), 0o600))
		code, out, errs := simulate(t, string(cluster), "-f", "-", "-timeline", timeline)
		require.Equal(t, c.code, code, errs)
		for _, want := range c.want {
			require.Regexp(t, want, out+errs)
		}
		if c.not != "" {
			require.NotContains(t, out, c.not)
		}
	})
}

// Bad groups and gates are named.
func TestBadGangs(t *testing.T) {
	cluster, err := os.ReadFile("testdata/gangs.yaml")
	require.NoError(t, err)
	type test struct {
		name, why, text string
		args            []string
		code            int
		want            string
	}
	testkit.Run(t, []test{
		{"no policy", "the API server refuses the group, whose pods wait", strings.Replace(string(cluster), "{gang: {minCount: 4}}", "{}", 1), nil, 0, "must specify one of: `basic`, `gang`"},
		{"a gate that is none", "the gate is named", string(cluster), []string{"-feature-gates", "Gangs=true"}, 2, `unrecognized feature gate: Gangs`},
		{"a gate alone", "it needs another", string(cluster), []string{"-feature-gates", "CompositePodGroup=true"}, 2, "needs GenericWorkload"},
	}, func(t *testing.T, c test) {
		code, _, errs := simulate(t, c.text, append([]string{"-f", "-"}, c.args...)...)
		require.Equal(t, c.code, code, errs)
		require.Contains(t, errs, c.want)
	})
}

// A member that is being deleted before it had a node counts for the queue, and no cycle places it: what kube-scheduler says of the others then.
func TestDyingMembers(t *testing.T) {
	const world = `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: g}, spec: {schedulingPolicy: {gang: {minCount: 2}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {priority: 0, schedulingGroup: {podGroupName: g}, containers: [{name: c, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b, deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: [example.com/x]}, spec: {priority: 0, schedulingGroup: {podGroupName: g}, containers: [{name: c, image: i}]}}
`
	const third = "---\n{apiVersion: v1, kind: Pod, metadata: {name: c}, spec: {priority: 0, schedulingGroup: {podGroupName: g}, containers: [{name: c, image: i}]}}\n"
	type test struct {
		name, why, text string
		want            []string // patterns
	}
	testkit.Run(t, []test{
		{"too few", "the cycle begins with one member, and a plugin has never seen one", world, []string{`default +a +0 +Error +<none> +error in "DynamicResources" PodGroupPostFilter plugins: not found`, `default +g +2 +2 +0 +SchedulerError`, `1 of 2 members exist, 2 needed; 1 more is being deleted`}},
		{"enough", "the others are two", world + third, []string{`default +a +0 +Scheduled +n1`, `default +c +0 +Scheduled +n1`, `default +g +2 +3 +2 +Scheduled`}},
		{"gated", "its gate holds the others", strings.Replace(world, "finalizers: [example.com/x]}, spec: {", "finalizers: [example.com/x]}, spec: {schedulingGates: [{name: x}], ", 1) + third, []string{`default +2 pods like a +0 +Gated`}},
	}, func(t *testing.T, c test) {
		code, out, errs := simulate(t, c.text, "-f", "-")
		require.Zero(t, code, errs)
		for _, want := range c.want {
			require.Regexp(t, want, out)
		}
	})
	code, out, errs := simulate(t, world, "-f", "-", "-explain", "default/b")
	require.Zero(t, code, errs)
	require.Contains(t, out, "Pod default/b is being deleted: no scheduler tries it.")
}

// Members of another scheduler count once they have nodes; that is said, and what a tree waits for too.
func TestMembersOfOtherSchedulers(t *testing.T) {
	const world = `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: scheduling.k8s.io/v1alpha3, kind: CompositePodGroup, metadata: {name: job}, spec: {workloadRef: {workloadName: w, templateName: t}, schedulingPolicy: {gang: {minGroupCount: 2}}}}
---
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: g}, spec: {parentCompositePodGroupName: job, workloadRef: {workloadName: w, templateName: t}, schedulingPolicy: {gang: {minCount: 1}}}}
---
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: h}, spec: {parentCompositePodGroupName: job, workloadRef: {workloadName: w, templateName: t}, schedulingPolicy: {gang: {minCount: 1}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {priority: 0, schedulingGroup: {podGroupName: g}, containers: [{name: c, image: i}]}}
`
	var others string
	for _, name := range []string{"b", "c", "e", "f"} {
		others += "---\n{apiVersion: v1, kind: Pod, metadata: {name: " + name + "}, spec: {priority: 0, schedulerName: other, schedulingGroup: {podGroupName: h}, containers: [{name: c, image: i}]}}\n"
	}
	const says = "b waits for scheduler \"other\", and counts once it has a node\n"
	code, out, errs := simulate(t, world+others, "-f", "-")
	require.Zero(t, code, errs)
	require.Contains(t, out, "\n  1 of 2 members exist, 2 needed\n  "+says)
	require.Contains(t, out, "\n  1 more the same\n  Do: ")
	require.Regexp(t, `default +g +1 +1 +0 +<none> +waiting for composite pod group "job" tree to meet quorum\n`, out)
	code, out, errs = simulate(t, world+others, "-f", "-", "-explain", "podgroup/g")
	require.Zero(t, code, errs)
	require.True(t, strings.HasPrefix(out, "1 of 2 members exist, 2 needed\n"+says), out)
	_, out, _ = simulate(t, world+strings.ReplaceAll(others, "schedulerName: other, ", ""), "-f", "-")
	require.NotContains(t, out, "waits for scheduler")
}

// A question may name a group or a composite group in the place of a pod.
func TestQuestionsAboutGroups(t *testing.T) {
	type test struct {
		name, why string
		args      []string
		code      int
		want      string
	}
	testkit.Run(t, []test{
		{"why of a tree", "about the first of its pods that waits", []string{"-explain", "compositepodgroup/large"}, 0, "Pod default/a-0 in group a: would fit but the group fails."},
		{"how many of a tree", "whole trees", []string{"-how-many", "CompositePodGroup/large"}, 0, "1 more group like compositepodgroup/default/large fits, with 2 pods."},
		{"how many of a group", "with the tree above it", []string{"-how-many", "podgroup/a"}, 0, "1 more group like compositepodgroup/default/large fits, with 2 pods."},
		{"none", "no pod names it", []string{"-how-many", "podgroup/none"}, 2, `-how-many: Not found: "podgroup/none": no pod of that group in namespace default`},
		{"composite without its gate", "it does not count", []string{"-explain", "compositepodgroup/large", "-feature-gates", "GenericWorkload=true"}, 2, `no pod of that group in namespace default; composite groups count with the feature gate CompositePodGroup alone`},
		{"another namespace", "groups have one", []string{"-explain", "compositepodgroup/large", "-n", "other"}, 2, `no pod of that group in namespace other`},
	}, func(t *testing.T, c test) {
		code, out, errs := simulate(t, "", append([]string{"-f", "testdata/gang_trees.yaml"}, c.args...)...)
		require.Equal(t, c.code, code, errs)
		require.Contains(t, out+errs, c.want)
	})
}

// A group whose priority class does not exist never comes, and its pods wait: when it is in the input, and when it comes later. The priority of a
// group that comes later is that of its class.
func TestRefusedPriorities(t *testing.T) {
	const world = `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: high}, value: 100}
---
{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {priorityClassName: high, schedulingGroup: {podGroupName: g}, containers: [{name: c, image: i}]}}
---
`
	const group = "{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: g}, spec: {priorityClassName: high, schedulingPolicy: {gang: {minCount: 1}}}}"
	unknown, set := strings.Replace(group, "high", "hig", 1), strings.Replace(group, "high", "high, priority: 5", 1)
	const said = "PodGroup default/g: no PriorityClass with name hig was found; it is left out, and its pods wait"
	type test struct {
		name, why, text, later string
		args                   []string
		code                   int
		want                   []string // patterns of what is printed
	}
	testkit.Run(t, []test{
		{"known", "the group has the value of its class", group, "", nil, 0, []string{`default +a +100 +Scheduled`}},
		{"unknown", "the API server refuses the group", unknown, "", nil, 0, []string{said, `default +a +100 +Gated .*no object of the group`}},
		{"unknown, admitted", "groups count all the same", unknown, "", []string{"-admit"}, 0, []string{said, `default +a +100 +Gated`}},
		{"unknown, strict", "it is an error", unknown, "", []string{"-strict"}, 2, []string{"PodGroup default/g: no PriorityClass with name hig was found"}},
		{"set", "it stays as the priority of a pod does", set, "", nil, 0, []string{`got 100 and 5`}},
		{"set, admitted", "the API server refuses it", set, "", []string{"-admit"}, 0, []string{`priority set in the pod group \(5\) must match the priority computed \(100\)`, `default +a +100 +Gated`}},
		{"later", "it has the value of its class", strings.Replace(group, "name: g}", "name: other}", 1), group, nil, 0, []string{`default +a +100 +Scheduled`, `default +g +1 +1 +1 +Scheduled`}},
		{"later, unknown", "the API server refuses it", strings.Replace(group, "name: g}", "name: other}", 1), unknown, nil, 0, []string{`no PriorityClass with name hig was found`, `default +a +100 +Gated`}},
	}, func(t *testing.T, c test) {
		args := append([]string{"-f", "-"}, c.args...)
		if c.later != "" {
			timeline := t.TempDir() + "/timeline.yaml"
			require.NoError(t, os.WriteFile(timeline, []byte("- at: 10s\n  add: "+c.later), 0o600))
			args = append(args, "-timeline", timeline)
		}
		code, out, errs := simulate(t, world+c.text, args...)
		require.Equal(t, c.code, code, errs)
		for _, want := range c.want {
			require.Regexp(t, want, out+errs)
		}
	})
}

// A scheduling gate of one member holds all: the table and the answer about another member name the pod that has it. The pod itself is told of its
// gate.
func TestGatedMember(t *testing.T) {
	const world = `
{apiVersion: v1, kind: Node, metadata: {name: n1}, status: {allocatable: {cpu: "4", memory: 8Gi, pods: "10"}}}
---
{apiVersion: scheduling.k8s.io/v1beta1, kind: PodGroup, metadata: {name: g}, spec: {schedulingPolicy: {gang: {minCount: 1}}}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {priority: 0, schedulingGroup: {podGroupName: g}, containers: [{name: c, image: i}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {priority: 0, schedulingGates: [{name: x}, {name: z}], schedulingGroup: {podGroupName: g}, containers: [{name: c, image: i}]}}
`
	code, out, errs := simulate(t, world, "-f", "-")
	require.Zero(t, code, errs)
	require.Regexp(t, `default +g +1 +2 +0 +<none> +pod b has the scheduling gate x, z, which holds all members\n`, out)
	for pod, want := range map[string]string{"a": " Pod b has the scheduling gate x, z, which holds all members.\n", "b": " Scheduling is blocked due to non-empty scheduling gates.\n"} {
		code, out, errs = simulate(t, world, "-f", "-", "-explain", "default/"+pod)
		require.Zero(t, code, errs)
		require.Contains(t, out, want)
	}
}
