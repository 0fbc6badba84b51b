package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/podberth/podberth/tools/consolidate"
	"github.com/podberth/podberth/tools/nopods"
	"github.com/podberth/podberth/tools/preflight"
	"github.com/podberth/podberth/tools/rollout"
	"github.com/podberth/podberth/tools/upgrade"
	"github.com/podberth/podberth/tools/whatif"
)

func emptyNodes() question {
	return question{
		use: "consolidate", short: "Plan which nodes can be emptied, and how their pods move",
		long: `Moves nothing. --time gives the search longer, --price-label counts prices in
place of nodes, --one-step names the one node that is best emptied now.

Exit codes: 0 planned; 2 bad input.`,
		examples: [2]string{"as few nodes as possible\nconsolidate", "one node, from a dump\nconsolidate -f cluster.yaml --one-step"},
		program:  "consolidate", flags: consolidate.Flags, run: consolidate.Run, args: cobra.NoArgs,
		hidden: []string{strict}, names: []string{"node=nodes.node"},
		need: func(*asked) Need {
			return Need{Placing: true, Budgets: true, Workloads: true, Admission: true}
		},
	}
}

func noPods() question {
	return question{
		use: "no-pods WORKLOAD", short: "Say why a workload has fewer pods than it wants",
		long: `Asks the API server's admission about the pods that the controller would make:
quotas, LimitRanges, classes, fields. WORKLOAD is KIND/NAME or
KIND/NAMESPACE/NAME. For pods that are there and wait ask why.

Exit codes: 0 answered; 2 bad input.`,
		examples: [2]string{"a Deployment of the current namespace\nno-pods deployment/web", "of a dump\nno-pods deployment/shop/web -f cluster.yaml"},
		program:  "no-pods", flags: nopods.Flags, run: nopods.Run, args: cobra.ExactArgs(1),
		hidden: []string{"workload", strict},
		need:   func(*asked) Need { return Need{Workloads: true, Admission: true} },
		more: func(a *asked) error {
			kind, rest, _ := strings.Cut(a.names[0], "/")
			if !strings.Contains(rest, "/") {
				rest = a.namespace + "/" + rest
			}
			a.argument, a.given = "-workload", append(a.given, "-workload="+kind+"/"+rest)
			return nil
		},
		dumps: func(q *question) { q.examples[0] = "a Deployment of the namespace default\nno-pods deployment/web" },
	}
}

func whatIf() question {
	return question{
		use: "what-if", short: "Say what waits, gets a node, moves and goes after changes",
		long: `Changes nothing in the cluster: the changes are made on a copy, in the order of
the command line, and the scheduler decides about the pods that wait then. A pod
that leaves a node keeps its name in the answer; its controller would make one
with another name. WORKLOAD is KIND/NAMESPACE/NAME.

Exit codes: 0 answered; 2 bad input.`,
		examples: [2]string{"a node goes, and one more like another comes\nwhat-if --remove-node n1 --add-node-like n2", "more replicas that ask for less, of a dump\nwhat-if -f cluster.yaml --request deployment/shop/web=cpu=250m --scale deployment/shop/web=8"},
		program:  "what-if", flags: whatif.Flags, run: whatif.Run, args: cobra.NoArgs,
		hidden: []string{strict}, names: []string{"pod=waits.pod", "pod=placed.pod", "pod=moves.pod"}, completeFlags: map[string]Kind{"cordon": Nodes, "remove-node": Nodes, "add-node-like": Nodes, "evict": Pods},
		need: func(*asked) Need { return Need{All: true} },
	}
}

func rollOut() question {
	return question{
		use: "rollout [NODE...]", short: "Plan replacing every node, and say what would hang",
		long: `Replaces nothing. Without nodes and -l all nodes are replaced. The plan says who
leaves when, where each pod goes, which nodes are blocked and what would free
them. --script writes the kubectl commands.

Exit codes: 0 planned; 1 a node is blocked and --fail-blocked is given; 2 bad
input.`,
		examples: [2]string{"every node behind one more node\nrollout --surge 1", "a pool of a dump, three nodes at a time\nrollout -f cluster.yaml -l pool=web --parallel 3"},
		program:  "rollout", flags: rollout.Flags, run: rollout.Run, complete: Nodes,
		hidden: []string{strict}, forms: browser, names: []string{"node=steps.nodes"},
		need: func(*asked) Need {
			return Need{Placing: true, Budgets: true, Workloads: true, Admission: true}
		},
		more: func(a *asked) error { a.given = append(a.given, a.names...); return nil },
	}
}

func beforeUpgrade() question {
	return question{
		use: "preflight", short: "Say in one screen whether the cluster may be upgraded now",
		long: `Asks rollout and upgrade together: which nodes cannot be drained, why and what
helps, which pods wait, which budgets hang, what the new version changes.
Changes nothing.

Exit codes: 0 nothing is in the way; 1 something is; 2 bad input.`,
		examples: [2]string{"may the cluster go to 1.37 tonight?\npreflight --to 1.37", "a dump, in CI\npreflight -f dump.yaml --from 1.36 --to 1.37 -o json"},
		program:  "preflight", flags: preflight.Flags, run: preflight.Run, args: cobra.NoArgs,
		names: []string{"node=blocked.nodes"}, need: func(*asked) Need { return Need{All: true} },
	}
}

func upgradeTo() question {
	return question{
		use: "upgrade", short: "Say what changes when Kubernetes goes to another minor version",
		long: `Decides about the pods of the cluster as both versions do, and compares.

Exit codes: 0 answered; 1 something changes and --fail-changed is given; 2 bad
input.`,
		examples: [2]string{"the cluster\nupgrade --from 1.35 --to 1.36", "a dump, in CI\nupgrade -f dump.yaml --from 1.35 --to 1.36 --fail-changed"},
		program:  "upgrade", flags: upgrade.Flags, run: upgrade.Run, args: cobra.NoArgs,
		names: []string{"pod=pods.pod"}, need: func(*asked) Need { return Need{All: true} },
	}
}
