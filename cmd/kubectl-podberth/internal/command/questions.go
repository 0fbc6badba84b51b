package command

import (
	"github.com/spf13/cobra"

	"github.com/podberth/podberth/cmd/kubectl-podberth/internal/source"
	"github.com/podberth/podberth/examples/drain/drain"
	"github.com/podberth/podberth/examples/failures/failures"
	"github.com/podberth/podberth/examples/nodepressure/nodepressure"
	"github.com/podberth/podberth/examples/page"
	"github.com/podberth/podberth/examples/simulate/simulate"
	"github.com/podberth/podberth/examples/taintforecast/taintforecast"
)

// questions are the commands that ask programs, in the order of the help.
func questions() []question {
	return []question{why(), place(), fit(), drainNodes(), evict(), nodePressure(), taints(), nodeFailures(), emptyNodes(), rollOut(), upgradeTo(), lintRules()}
}

func why() question {
	return question{
		use: "why POD", short: "Explain why a pod waits, or why it runs where it runs",
		long: `The first lines say what would have to change so that a waiting pod gets a node.
Then come what rejects the pod on which nodes, the numbers, and the scores.

Exit codes: 0 explained; 1 the pod has no node and --fail-unschedulable is
given; 2 bad input.`,
		examples: [2]string{"# why a pod of the current namespace waits\nkubectl podberth why web-0", "# every node, from a dump\nkubectl podberth why shop/web-0 --all -f cluster.yaml"},
		program:  "simulate", flags: simulate.Flags, run: simulate.Run, args: cobra.ExactArgs(1), complete: &source.Pods,
		hidden: append([]string{"explain", "how-many", "log", "detail", "fail-errors", "map", "pack"}, input...),
		usage:  map[string]string{"all": "every node, not the best twenty", "where": "why the pod does not go there, and what would have to change: a `NODE` or a label selector", "preemption": preemptionUsage},
		forms:  browser, names: []string{"node=node"}, need: placing, more: podFor("-explain"),
	}
}

func place() question {
	return question{
		use: "place", short: "Say where the waiting pods go, and why the others stay",
		long: `Schedules the waiting pods in the order of the queue. --cordon, --taint and
--add change the cluster before. --map draws how full zones and nodes are then.

Exit codes: 0 answered; 1 a pod stays without a node and --fail-unschedulable is
given, or a pod was refused and --fail-errors is given; 2 bad input.`,
		examples: [2]string{"# the pods of all namespaces\nkubectl podberth place -A", "# what if a node is cordoned and ten more pods come\nkubectl podberth place -f dump.yaml --cordon n1 --add pod.yaml --count 10"},
		program:  "simulate", flags: simulate.Flags, run: simulate.Run, args: cobra.NoArgs, namespaced: true,
		hidden: append([]string{"explain", "where", "how-many", "all"}, input...), usage: map[string]string{"preemption": preemptionUsage},
		forms: browser, names: []string{"pod=pods.pod"}, need: placing,
	}
}

func fit() question {
	return question{
		use: "fit POD", short: "Count how many more pods like a pod fit",
		long: `The waiting pods are not placed before. The answer names the nodes and says why
one more does not fit.

Exit codes: 0 answered; 1 none fits and --fail-unschedulable is given; 2 bad
input.`,
		examples: [2]string{"# how many more replicas fit\nkubectl podberth fit web-0", "# after a node is gone\nkubectl podberth fit shop/web-0 -f cluster.yaml --cordon n1"},
		program:  "simulate", flags: simulate.Flags, run: simulate.Run, args: cobra.ExactArgs(1), complete: &source.Pods,
		hidden: append([]string{"explain", "where", "how-many", "all", "log", "detail", "timeline", "grace", "seed", "preemption", "fail-errors", "map", "pack"}, input...),
		names:  []string{"node=nodes"}, need: placing, more: podFor("-how-many"),
	}
}

func drainNodes() question {
	return question{
		use: "drain NODE...", short: "Plan draining nodes: who blocks, who leaves when, where each goes",
		long: `Evicts nothing. Flags are those of kubectl drain.

Exit codes: 0 planned; 1 the drain cannot begin, or a pod is blocked and
--fail-blocked is given; 2 bad input.`,
		examples: [2]string{"# a node, as kubectl drain would\nkubectl podberth drain node-a1 --ignore-daemonsets", "# the nodes of a zone together\nkubectl podberth drain -l topology.kubernetes.io/zone=a -f cluster.yaml"},
		program:  "drain", flags: drain.Flags, run: drain.Run, complete: &source.Nodes,
		hidden: append([]string{"evict"}, input...),
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
		examples: [2]string{"# may this pod leave?\nkubectl podberth evict web-0", "# of a dump, in a script\nkubectl podberth evict shop/web-0 -f cluster.yaml --fail-blocked"},
		program:  "drain", flags: drain.Flags, run: drain.Run, args: cobra.ExactArgs(1), complete: &source.Pods,
		hidden: append([]string{"evict", "force", "ignore-daemonsets", "delete-emptydir-data", "disable-eviction", "grace-period", "skip-wait-for-delete-timeout", "l", "pod-selector"}, input...),
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
		examples: [2]string{"# what happens on a node now\nkubectl podberth pressure node-a1", "# from a snapshot\nkubectl podberth pressure node-a1 -f cluster.yaml.gz"},
		program:  "nodepressure", flags: nodepressure.Flags, run: nodepressure.Run, args: cobra.MaximumNArgs(1), complete: &source.Nodes,
		names: []string{"pod=ranking.pod"}, more: pressureOf, hidden: []string{"strict", "node"},
		need: func(a *asked) source.Need {
			return source.Need{Node: a.names[0], Stats: !a.has("-summary"), Settings: !a.has("-kubelet")}
		},
	}
}

func taints() question {
	return question{
		use: "taints [NODE...]", short: "Forecast which pods taints make leave their nodes, and when",
		long: `The kubelets of the named nodes fall silent at the start; --stop-zone names a
zone, --events a file with what else happens.

Exit codes: 0 answered; 2 bad input.`,
		examples: [2]string{"# the kubelet of a node falls silent\nkubectl podberth taints node-a1", "# a zone fails\nkubectl podberth taints -f cluster.yaml --stop-zone eu-1a"},
		program:  "taintforecast", flags: taintforecast.Flags, run: taintforecast.Run, complete: &source.Nodes,
		hidden: append([]string{"stop"}, input...), forms: browser, names: []string{"pod=entries.pod"},
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
		examples: [2]string{"# every node and every zone\nkubectl podberth failures", "# two nodes together, from a dump, in CI\nkubectl podberth failures -f dump.yaml --scenario n1,n2 --fail-pending"},
		program:  "failures", flags: failures.Flags, run: failures.Run, args: cobra.NoArgs,
		hidden: input, names: []string{"pod=scenarios.groups.pods"},
		need: func(*asked) source.Need {
			return source.Need{Placing: true, Budgets: true, Workloads: true, Admission: true}
		},
	}
}

// preemptionUsage says what --preemption takes.
const preemptionUsage = "whose `VICTIMS` give way: kube-scheduler's (default), or the best (optimal)"

// browser is the form of output of questions that can be answered with a page.
var browser = []string{page.Form}

// input are flags about dumps: a cluster has what they make or check.
var input = []string{"strict"}

// placing is the need of questions that place pods.
func placing(a *asked) source.Need {
	n := source.Need{Placing: true, Budgets: true}
	for _, flag := range []string{"-admit", "-add", "-expand", "-timeline"} {
		if a.has(flag) {
			n.Admission, n.Workloads = true, true
		}
	}
	return n
}

// planning is the need of questions about evictions.
func planning(a *asked) source.Need {
	return source.Need{Placing: true, Budgets: true, Workloads: true, Admission: a.has("-expand")}
}
