package command

import (
	"github.com/spf13/cobra"

	"github.com/podberth/podberth/tools/consolidate"
	"github.com/podberth/podberth/tools/preflight"
	"github.com/podberth/podberth/tools/rollout"
	"github.com/podberth/podberth/tools/upgrade"
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
