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
// whose group is missing.
var gangCommands = map[string][]string{
	"check":       {"check", "-f", gangs},
	"consolidate": {"consolidate", "-f", gangs},
	"drain":       {"drain", "n1", "-f", gangs},
	"drain-all":   {"drain", "n1", "--disable-eviction", "-f", gangs},
	"drain-off":   {"drain", "n1", "--feature-gates", "GenericWorkload=false", "-f", gangs},
	"evict":       {"evict", "default/train-0", "--at", "2026-03-02T08:00:00Z", "-f", gangs},
	"failures":    {"failures", "-f", gangs},
	"fit":         {"fit", "default/train-0", "-f", gangs},
	"fit-lost":    {"fit", "default/lost-0", "-f", gangs},
	"fit-off":     {"fit", "default/train-0", "--feature-gates", "GenericWorkload=false", "-f", gangs},
	"fit-tree":    {"fit", "default/east-0", "-f", gangs},
	"fit-waits":   {"fit", "default/large-0", "-f", gangs},
	"lint":        {"lint", "-f", gangs},
	"no-pods":     {"no-pods", "job/train", "-f", gangs},
	"pack":        {"place", "-A", "--pack", "--steps", "500", "-f", gangs},
	"place":       {"place", "-A", "-f", gangs},
	"preflight":   {"preflight", "--from", "1.36", "--to", "1.37", "--time", "0", "-f", gangs},
	"pressure":    {"pressure", "general-a1", "-f", gangs, "--summary", tools + "pressure/testdata/memory.json"},
	"rollout":     {"rollout", "--force", "-f", gangs},
	"snapshot":    {"snapshot", "-f", gangs, "--anonymise"},
	"taints":      {"taints", "--stop-zone", "a", "-f", gangs},
	"upgrade":     {"upgrade", "--from", "1.36", "--to", "1.37", "-f", gangs},
	"what-if":     {"what-if", "--cordon", "n1", "--evict", "default/train-0", "-f", gangs},
	"why":         {"why", "default/large-0", "-f", gangs},
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
