package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/podberth/podberth/tools/drain"
	"github.com/podberth/podberth/tools/failures"
	"github.com/podberth/podberth/tools/page"
	"github.com/podberth/podberth/tools/place"
	"github.com/podberth/podberth/tools/pressure"
	"github.com/podberth/podberth/tools/taints"
)

// questions are the commands that ask programs, in the order of the help.
func questions() []question {
	return []question{why(), placePods(), fit(), drainNodes(), evict(), nodePressure(), forecast(), nodeFailures(), noPods(), whatIf(), emptyNodes(), rollOut(), upgradeTo(), beforeUpgrade(), checkCluster(), lintRules()}
}

func why() question {
	return question{
		use: "why POD", short: "Explain why a pod waits, or why it runs where it runs",
		long: `Of a pod that waits the answer is the cause, and what would let the pod and its
siblings run. With -o wide or --all come what rejects the pod on which nodes,
what wakes it, the numbers, and the scores. POD may be an owner, such as
deployment/web, or a PodGroup or CompositePodGroup, such as podgroup/train: the
answer is about the first of its pods that waits.

Exit codes: 0 explained; 1 the pod has no node and --fail-unschedulable is
given; 2 bad input.`,
		examples: [2]string{"why a pod of the current namespace waits\nwhy web-0", "every node, from a dump\nwhy shop/web-0 --all -f cluster.yaml"},
		program:  "place", flags: place.Flags, run: place.Run, args: cobra.ExactArgs(1), complete: Pods,
		hidden: []string{"explain", "how-many", "log", "detail", "fail-errors", "map", "pack", "against", "price-label", "brief", strict},
		usage: map[string]string{"all": "every node, not the best twenty", "where": "why the pod does not go there, and what would have to change: a `NODE` or a label selector", "preemption": preemptionUsage,
			"steps": "search for `N` steps for changes that would help", "time": "end that search after this `DURATION`; 0: no limit"},
		forms: browser, names: []string{"node=node"}, need: placing, more: podFor("-explain"),
		dumps: func(q *question) { q.examples[0] = "why a pod waits\nwhy web-0" },
	}
}

func placePods() question {
	return question{
		use: "place", short: "Say where the waiting pods go, and why the others stay",
		long: `Schedules the waiting pods in the order of the queue. --cordon, --taint and
--add change the cluster before. --map draws how full zones and nodes are then.
--against says what another configuration of the scheduler would change.

Exit codes: 0 answered; 1 a pod stays without a node and --fail-unschedulable is
given, or a pod was refused and --fail-errors is given; 2 bad input.`,
		examples: [2]string{"the pods of all namespaces\nplace -A", "what if a node is cordoned and ten more pods come\nplace -f dump.yaml --cordon n1 --add pod.yaml --count 10"},
		program:  "place", flags: place.Flags, run: place.Run, args: cobra.NoArgs, namespaced: true,
		hidden: []string{"explain", "where", "how-many", "all", strict}, usage: map[string]string{"preemption": preemptionUsage, "steps": "with --pack: search for `N` steps for a better plan", "time": "with --pack and --preemption optimal: end each search after this `DURATION`; 0: no limit"},
		forms: browser, names: []string{"pod=pods.pod"}, need: placing,
	}
}

func fit() question {
	return question{
		use: "fit POD", short: "Count how many more pods like a pod fit",
		long: `The waiting pods are not placed before. The answer names the nodes and says why
one more does not fit. Of a pod of a group whole groups are counted, each with
all of its pods, and then more pods of the group itself if it runs. POD may be
an owner, such as deployment/web, or a group, such as podgroup/train.

Exit codes: 0 answered; 1 none fits and --fail-unschedulable is given; 2 bad
input.`,
		examples: [2]string{"how many more replicas fit\nfit web-0", "after a node is gone\nfit shop/web-0 -f cluster.yaml --cordon n1"},
		program:  "place", flags: place.Flags, run: place.Run, args: cobra.ExactArgs(1), complete: Pods,
		hidden: []string{"explain", "where", "how-many", "all", "log", "detail", "timeline", "grace", "seed", "preemption", "fail-errors", "map", "pack", "against", "price-label", "brief", "steps", "time", strict},
		names:  []string{"node=nodes"}, need: placing, more: podFor("-how-many"),
	}
}

func drainNodes() question {
	return question{
		use: "drain NODE...", short: "Plan draining nodes: who blocks, who leaves when, where each goes",
		long: `Evicts nothing. Flags are those of kubectl drain.

Exit codes: 0 planned; 1 the drain cannot begin, or a pod is blocked and
--fail-blocked is given; 2 bad input.`,
		examples: [2]string{"a node\ndrain node-a1", "the nodes of a zone together\ndrain -l topology.kubernetes.io/zone=a -f cluster.yaml"},
		program:  "drain", flags: drain.Flags, run: drain.Run, complete: Nodes,
		hidden: []string{"evict", strict},
		forms:  browser, names: []string{"pod=waves.evictions.pod"}, need: planning,
		more: func(a *asked) error { a.given = append(a.given, a.names...); return nil },
	}
}

func evict() question {
	return question{
		use: "evict POD", short: "Say whether a pod may be evicted, and what would change the answer",
		long: `Evicts nothing.

Exit codes: 0 answered; 1 the eviction is refused and --fail-blocked is given; 2
bad input.`,
		examples: [2]string{"may this pod leave?\nevict web-0", "of a dump, in a script\nevict shop/web-0 -f cluster.yaml --fail-blocked"},
		program:  "drain", flags: drain.Flags, run: drain.Run, args: cobra.ExactArgs(1), complete: Pods,
		hidden: []string{"evict", "force", "ignore-daemonsets", "delete-emptydir-data", "disable-eviction", "grace-period", "skip-wait-for-delete-timeout", "l", "pod-selector", "steps", "time", strict},
		names:  []string{"poddisruptionbudget=budgets"}, need: planning, more: podFor("-evict"),
	}
}

func nodePressure() question {
	return question{
		use: "pressure NODE", short: "Say what the kubelet evicts on a node that runs short",
		long: `Short of memory, disk or processes: prints the thresholds, what the kubelet
reclaims, and in which order it evicts pods. Reads the node's stats summary and
the kubelet's configuration through the API server, or from a snapshot or files.

Exit codes: 0 answered; 2 bad input.`,
		examples: [2]string{"what happens on a node now\npressure node-a1", "from a snapshot\npressure node-a1 -f cluster.yaml.gz"},
		program:  "pressure", flags: pressure.Flags, run: pressure.Run, args: cobra.MaximumNArgs(1), complete: Nodes,
		names: []string{"pod=ranking.pod"}, more: pressureOf, hidden: []string{"node", strict},
		need: func(a *asked) Need {
			return Need{Node: a.names[0], Stats: !a.has("-summary"), Settings: !a.has("-kubelet")}
		},
		dumps: func(q *question) {
			q.long = strings.Replace(q.long, "the kubelet's configuration through the API server, or from a snapshot or files.", "the kubelet's configuration from a snapshot or files.", 1)
			q.examples[0] = "what happens on a node now\npressure node-a1 -f cluster.yaml --summary summary.json"
		},
	}
}

func forecast() question {
	return question{
		use: "taints [NODE...]", short: "Forecast which pods taints make leave their nodes, and when",
		long: `The kubelets of the named nodes fall silent at the start; --stop-zone names a
zone, --events a file with what else happens. Without these the taints of
devices alone are forecast, those of DeviceTaintRules in -f included.

Exit codes: 0 answered; 2 bad input.`,
		examples: [2]string{"the kubelet of a node falls silent\ntaints node-a1", "a zone fails\ntaints -f cluster.yaml --stop-zone eu-1a"},
		need:     func(*asked) Need { return Need{Devices: true} },
		program:  "taints", flags: taints.Flags, run: taints.Run, complete: Nodes,
		hidden: []string{"stop", strict}, forms: browser, names: []string{"pod=entries.pod"},
		more: func(a *asked) error {
			for _, n := range a.names {
				a.given = append(a.given, "-stop="+n)
			}
			return nil
		},
	}
}

func nodeFailures() question {
	return question{
		use: "failures", short: "Say what happens to the pods when nodes or zones fail",
		long: `Plays every node and every zone, or what --scenario, --by and --pairs ask for,
the worst first. --headroom says how many nodes may fail.

Exit codes: 0 answered; 1 a scenario leaves a pod pending and --fail-pending is
given; 2 bad input.`,
		examples: [2]string{"every node and every zone\nfailures", "two nodes together, from a dump, in CI\nfailures -f dump.yaml --scenario n1,n2 --fail-pending"},
		program:  "failures", flags: failures.Flags, run: failures.Run, args: cobra.NoArgs,
		hidden: []string{strict}, names: []string{"pod=scenarios.groups.pods"},
		need: func(*asked) Need {
			return Need{Placing: true, Budgets: true, Workloads: true, Admission: true}
		},
	}
}

// preemptionUsage says what --preemption takes.
const preemptionUsage = "whose `VICTIMS` give way: kube-scheduler's (default), or the best (optimal)"

// browser is the form of output of questions that can be answered with a page.
var browser = []string{page.Form}

// strict is the flag that makes errors of what a dump lacks. A cluster lacks nothing, so only a program of dumps has it where it is
// hidden.
const strict = "strict"

// placing is the need of questions that place pods.
func placing(a *asked) Need {
	n := Need{Placing: true, Budgets: true}
	for _, flag := range []string{"-admit", "-add", "-expand", "-timeline"} {
		if a.has(flag) {
			n.Admission, n.Workloads = true, true
		}
	}
	return n
}

// planning is the need of questions about evictions.
func planning(a *asked) Need {
	return Need{Placing: true, Budgets: true, Workloads: true, Admission: a.has("-expand")}
}
