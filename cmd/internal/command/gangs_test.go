package command_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

const gangs = "testdata/gangs.yaml"

// gangCommands are the commands on a dump with gangs: a running one with disruption mode All, two that wait, a composite group, and a pod
// whose group is missing. Those that end in -off place pods as if they had no group.
var gangCommands = map[string][]string{
	"check":           {"check", "-f", gangs},
	"consolidate":     {"consolidate", "-f", gangs},
	"consolidate-off": {"consolidate", "-f", gangs, "--feature-gates", "GenericWorkload=false"},
	"drain":           {"drain", "n1", "-f", gangs},
	"drain-all":       {"drain", "n1", "--disable-eviction", "-f", gangs},
	"drain-off":       {"drain", "n1", "--feature-gates", "GenericWorkload=false", "-f", gangs},
	"evict":           {"evict", "default/train-0", "--at", "2026-03-02T08:00:00Z", "-f", gangs},
	"evict-off":       {"evict", "default/train-0", "--at", "2026-03-02T08:00:00Z", "-f", gangs, "--feature-gates", "GenericWorkload=false"},
	"failures":        {"failures", "-f", gangs},
	"failures-off":    {"failures", "-f", gangs, "--feature-gates", "GenericWorkload=false"},
	"fit":             {"fit", "default/train-0", "-f", gangs},
	"fit-lost":        {"fit", "default/lost-0", "-f", gangs},
	"fit-off":         {"fit", "default/train-0", "--feature-gates", "GenericWorkload=false", "-f", gangs},
	"fit-tree":        {"fit", "default/east-0", "-f", gangs},
	"fit-waits":       {"fit", "default/large-0", "-f", gangs},
	"lint":            {"lint", "-f", gangs},
	"no-pods":         {"no-pods", "job/train", "-f", gangs},
	"pack":            {"place", "-A", "--pack", "--steps", "500", "-f", gangs},
	"pack-off":        {"place", "-A", "--pack", "--steps", "500", "-f", gangs, "--feature-gates", "GenericWorkload=false"},
	"place":           {"place", "-A", "-f", gangs},
	"place-off":       {"place", "-A", "-f", gangs, "--feature-gates", "GenericWorkload=false"},
	"preflight":       {"preflight", "--from", "1.36", "--to", "1.37", "--time", "0", "-f", gangs},
	"preflight-off":   {"preflight", "--from", "1.36", "--to", "1.37", "--time", "0", "-f", gangs, "--feature-gates", "GenericWorkload=false"},
	"pressure":        {"pressure", "general-a1", "-f", gangs, "--summary", tools + "pressure/testdata/memory.json"},
	"rollout":         {"rollout", "--force", "-f", gangs},
	"rollout-off":     {"rollout", "--force", "-f", gangs, "--feature-gates", "GenericWorkload=false"},
	"snapshot":        {"snapshot", "-f", gangs, "--anonymise"},
	"taints":          {"taints", "--stop-zone", "a", "-f", gangs},
	"upgrade":         {"upgrade", "--from", "1.36", "--to", "1.37", "-f", gangs},
	"upgrade-off":     {"upgrade", "--from", "1.36", "--to", "1.37", "-f", gangs, "--feature-gates", "GenericWorkload=false"},
	"upgrade-same":    {"upgrade", "--from", "1.37", "--to", "1.37", "-f", gangs},
	"what-if":         {"what-if", "--cordon", "n1", "--evict", "default/train-0", "-f", gangs},
	"what-if-off":     {"what-if", "--cordon", "n1", "--evict", "default/train-0", "-f", gangs, "--feature-gates", "GenericWorkload=false"},
	"why":             {"why", "default/large-0", "-f", gangs},
	"why-off":         {"why", "default/large-0", "-f", gangs, "--feature-gates", "GenericWorkload=false"},
}

// Every command on a dump with gangs, as golden files. Each command of the help is among them.
func TestGangs(t *testing.T) {
	seen := map[string]bool{"completion": true, "help": true, "version": true, // they read no dump
		"mcp": true} // answers as the commands do: TestEqualToCommands of package mcp
	for name, args := range gangCommands {
		seen[args[0]] = true
		t.Run(name, func(t *testing.T) {
			_, out, errs := podberth(t, "", append(args, "--width", "120")...)
			testkit.Golden(t, filepath.Join("testdata", "gangs", name+".txt"), timeless(errs)+timeless(out))
		})
	}
	_, help, _ := podberth(t, "", "--help")
	_, list, _ := strings.Cut(help, "Available Commands:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	for _, m := range regexp.MustCompile(`(?m)^  (\S+)`).FindAllStringSubmatch(list, -1) {
		require.True(t, seen[m[1]], "command %s has no golden file", m[1])
	}
}

// A dump whose groups have claims turns on the gate of these claims, in every command that decides about pods. With the gate off the API server's
// controller would have made a claim for each pod, and none is.
func TestClaimsOfGroups(t *testing.T) {
	const dump, refused = "testdata/gang_claims.yaml", "was not created for Pod default/train-0 (Pod is not owner)"
	for name, args := range map[string][]string{
		"place": {"place", "-A"}, "why": {"why", "podgroup/train"}, "failures": {"failures"}, "rollout": {"rollout", "--force"}, "lint": {"lint"}, "what-if": {"what-if", "--cordon", "a1"},
	} {
		t.Run(name, func(t *testing.T) {
			_, out, errs := podberth(t, "", append(args, "-f", dump)...)
			require.NotContains(t, out, refused)
			if name != "lint" { // which checks groups in any case
				require.Contains(t, errs, "DRAWorkloadResourceClaims")
			}
			_, out, _ = podberth(t, "", append(args, "-f", dump, "--feature-gates", "GenericWorkload=true")...)
			require.Contains(t, out, refused)
		})
	}
}
