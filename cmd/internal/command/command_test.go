package command_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/cmd/internal/command"
	"github.com/podberth/podberth/cmd/internal/source"
	"github.com/podberth/podberth/cmd/internal/terminal"
	"github.com/podberth/podberth/internal/testkit"
)

const (
	tools   = "../../../tools/"
	shipped = "../../../examples/testdata/cluster.yaml"
)

// kubectl is the program that reads a cluster too.
func kubectl() command.Program {
	return command.Program{Name: "kubectl podberth", Cluster: source.New()}
}

// podberth runs a command line without a cluster.
func podberth(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	var out, errs bytes.Buffer
	code = kubectl().Run(t.Context(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// commands are the commands on the shipped cluster, one of each.
var commands = map[string][]string{
	"why":         {"why", "data/postgres-3", "-f", shipped},
	"why-running": {"why", "shop/api-6d4b75cb6d-fs8m2", "-f", shipped},
	"place":       {"place", "-f", shipped},
	"fit":         {"fit", "shop/cart-6d4b75cb6d-q6kxd", "-f", shipped, "--cordon", "general-a1"},
	"drain":       {"drain", "general-a1", "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--at", "2026-03-02T08:00:00Z", "-f", shipped},
	"evict":       {"evict", "data/postgres-0", "--at", "2026-03-02T08:00:00Z", "-f", shipped},
	"pressure":    {"pressure", "general-a1", "-f", tools + "pressure/testdata/pods.yaml", "--summary", tools + "pressure/testdata/memory.json"},
	"taints":      {"taints", "general-a1", "--admit", "-f", shipped},
	"failures":    {"failures", "-f", shipped, "--scenario", "general-a1", "--by", "topology.kubernetes.io/zone"},
	"lint":        {"lint", "-f", shipped},
	"place-map":   {"place", "--map", "-f", shipped},
	"consolidate": {"consolidate", "--steps", "10", "-f", shipped},
	"upgrade":     {"upgrade", "--from", "1.35", "--to", "1.36", "-f", shipped},
	"preflight":   {"preflight", "--from", "1.36", "--to", "1.37", "--surge", "1", "--delete-emptydir-data", "--time", "0", "-f", shipped},
	"check":       {"check", "-f", shipped},
	"check-pod":   {"check", "-f", shipped, "--spread", "shop/web-6d4b75cb6d-q6kxd", "--place", "2", "--delete", "1"},
	"what-if":     {"what-if", "-f", shipped, "--remove-node", "general-a1", "--add-node-like", "general-b1", "--evict", "data/postgres-0", "--scale", "deployment/shop/cart=6"},
	"no-pods":     {"no-pods", "deployment/shop/cart", "-f", shipped},
	"rollout":     {"rollout", "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--surge", "1", "--start", "20s", "--renew", "4m", "-f", shipped},
}

// took is how long a run lasted, which a terminal is told. Where the lines break behind it depends on its length.
var took = regexp.MustCompile(`\bin\s+\d+m?s\b(; -o wide\s+has\s+the\s+whole\s+messages)?`)

// timeless returns the output of a run that takes no time, with what stands behind the time in one line.
func timeless(out string) string {
	return took.ReplaceAllStringFunc(out, func(text string) string {
		_, rest, more := strings.Cut(text, ";")
		if !more {
			return "in 0s"
		}
		return "in 0s; " + strings.Join(strings.Fields(rest), " ")
	})
}

// Every command on the shipped cluster, as golden files: the table at three widths and whole, and the forms for programs. No line is
// wider than the terminal.
func TestShippedCluster(t *testing.T) {
	for name, args := range commands {
		t.Run(name, func(t *testing.T) {
			for form, extra := range map[string][]string{
				"80.txt": {"--width", "80"}, "120.txt": {"--width", "120"}, "200.txt": {"--width", "200"},
				"wide.txt": {"-o", "wide"}, "yaml": {"-o", "yaml"}, "name": {"-o", "name"},
			} {
				if testing.Short() && form != "120.txt" {
					continue // the race detector is run with short, and all forms are of the same answer
				}
				if slices.Contains(args, "--map") && !strings.HasSuffix(form, "txt") {
					continue // a picture is for terminals
				}
				code, out, errs := podberth(t, "", append(args, extra...)...)
				want := 0
				if name == "preflight" {
					want = 1 // something is in the way
				}
				if name == "lint" && !strings.HasPrefix(out, "{") && strings.Contains(out, "error:") {
					want = 1
				}
				if name != "lint" {
					require.Equal(t, want, code, "%s: %s", form, errs)
				}
				if strings.HasSuffix(form, "txt") || form == "name" {
					testkit.Golden(t, filepath.Join("testdata", name+"."+form), timeless(out))
				}
				if form == extra[1]+".txt" && extra[0] == "--width" {
					limit, err := strconv.Atoi(extra[1])
					require.NoError(t, err)
					for line := range strings.Lines(out) {
						require.LessOrEqual(t, terminal.Cells(strings.TrimSuffix(line, "\n")), limit, line)
					}
				}
			}
		})
	}
}

// The anonymised snapshot of the shipped cluster has no name of it. A folder and a packed file are read as a file is.
func TestSnapshotOfDump(t *testing.T) {
	code, out, errs := podberth(t, "", "snapshot", "-f", shipped, "--anonymise")
	require.Zero(t, code, errs)
	testkit.Golden(t, "testdata/snapshot.yaml", out)
	for _, name := range []string{"postgres", "general-a1", "shop", "eu-1a"} {
		require.NotContains(t, out, name)
	}
	dir := filepath.Join(t.TempDir(), "dumps")
	require.NoError(t, os.Mkdir(dir, 0o700))
	code, _, errs = podberth(t, "", "snapshot", "-f", shipped, "-o", filepath.Join(dir, "cluster.json.gz"))
	require.Zero(t, code, errs)
	_, want, _ := podberth(t, "", "place", "-f", shipped, "-o", "json")
	code, got, errs := podberth(t, "", "place", "-f", dir, "-o", "json")
	require.Zero(t, code, errs)
	require.Equal(t, want, got)
}

// The page of every command that has one: one file of HTML that names the answer.
func TestPages(t *testing.T) {
	for name, title := range map[string]string{"place": "Where the waiting pods go", "why": "Why data/postgres-3", "drain": "Drain of general-a1", "taints": "Forecast of taints", "rollout": "Rollout of the nodes"} {
		code, out, errs := podberth(t, "", append(commands[name], "-o", "html")...)
		require.Zero(t, code, errs)
		require.True(t, strings.HasPrefix(out, "<!DOCTYPE html>\n"), name)
		require.Contains(t, out, "<title>"+title+"</title>")
	}
	code, out, errs := podberth(t, "", append(commands["evict"], "-o", "html")...)
	require.Equal(t, 2, code)
	require.Empty(t, out)
	require.Equal(t, "kubectl podberth: -o: Unsupported value: \"html\": supported values: table, wide, json, yaml, name\n", errs)
}

// Every command of both programs has help with exit codes and two examples of that program. It fits 80 columns, and flags have two
// dashes.
func TestHelp(t *testing.T) {
	for _, p := range []command.Program{kubectl(), {Name: "podberth"}} {
		for _, name := range []string{"", "why", "place", "fit", "drain", "evict", "pressure", "taints", "failures", "consolidate", "rollout", "upgrade", "preflight", "check", "snapshot", "lint", "version"} {
			code, help, errs := testkit.Program(p.Run, "", append(strings.Fields(name), "--help"))
			require.Zero(t, code)
			require.Empty(t, errs)
			if name != "version" {
				require.Contains(t, help, "Exit codes: 0 ", name)
			}
			_, text, _ := strings.Cut(help, "Examples:\n")
			text, _, _ = strings.Cut(text, "\n\n")
			require.GreaterOrEqual(t, strings.Count(text, "  # "), 2, "%s: two examples", name)
			lines := strings.Count(text, "\n  "+p.Name+" ")
			if name == "version" {
				lines++ // one shows how to install the newest
			}
			require.GreaterOrEqual(t, lines, 2, "%s: two examples", name)
			if p.Cluster == nil {
				require.NotContains(t, strings.ReplaceAll(help, "kubectl podberth snapshot saves", ""), "kubectl podberth", name)
				require.NotContains(t, help, "--live", name)
			}
			for line := range strings.Lines(help) {
				require.LessOrEqual(t, terminal.Cells(strings.TrimSuffix(line, "\n")), 80, "%s: %s", name, line)
			}
			require.NotRegexp(t, regexp.MustCompile(`[ (]-[a-z]{2}`), help, "%s: flags have two dashes", name)
		}
	}
}

// Errors are one line that names the command and says what to do; nothing goes to standard output.
func TestErrors(t *testing.T) {
	for want, args := range map[string][]string{
		`kubectl podberth why: POD: Not found: "shop/postgres-3": no pod of that namespace and name; near: data/postgres-3`:                                           {"why", "shop/postgres-3", "-f", shipped},
		`kubectl podberth: -o: Unsupported value: "csv": supported values: table, wide, json, yaml, name, html`:                                                       {"place", "-f", shipped, "-o", "csv"},
		`kubectl podberth: unknown command "whyy" for "kubectl podberth" Did you mean this? why`:                                                                      {"whyy", "shop/web-0"},
		"kubectl podberth: unknown flag: --nope; see kubectl podberth place --help":                                                                                   {"place", "--nope"},
		`kubectl podberth: accepts 1 arg(s), received 0; see kubectl podberth why --help`:                                                                             {"why", "-f", shipped},
		`kubectl podberth drain: NODE: Required value: at least one node, or -l`:                                                                                      {"drain", "-f", shipped},
		`kubectl podberth place: stat no/such/file: no such file or directory`:                                                                                        {"place", "-f", "no/such/file"},
		`kubectl podberth place: --percentage: Invalid value: 200: not in valid range [0-100]`:                                                                        {"place", "-f", shipped, "--percentage", "200"},
		`kubectl podberth pressure: --summary: Required value: the input has no stats of node n1; kubectl get --raw /api/v1/nodes/n1/proxy/stats/summary prints them`: {"pressure", "n1", "-f", shipped},
		`kubectl podberth: NODE: Required value: the node whose kubelet is asked`:                                                                                     {"pressure"},
	} {
		code, out, errs := podberth(t, "", args...)
		require.Equal(t, 2, code, args)
		require.Empty(t, out)
		require.Equal(t, want+"\n", errs)
	}
	code, _, errs := podberth(t, "", "place")
	require.Equal(t, 2, code)
	require.Regexp(t, `^kubectl podberth: .*; -f PATH reads a dump in (its place|place of the cluster)\n$`, errs)
}

// Names of pods and nodes are completed from a dump.
func TestCompletion(t *testing.T) {
	for want, args := range map[string][]string{
		"data/postgres-3\n":         {"__complete", "-f", shipped, "why", "data/postgres-3"},
		"postgres-3\n":              {"__complete", "-f", shipped, "-n", "data", "why", "postgres-3"},
		"memory-a1\n":               {"__complete", "-f", shipped, "drain", "memory-a"},
		"table\nwide\njson\nyaml\n": {"__complete", "place", "-o", ""},
		"data/postgres-0\n":         {"__complete", "-f", shipped, "check", "--spread", "data/postgres-0"},
	} {
		_, out, _ := podberth(t, "", args...)
		require.True(t, strings.HasPrefix(out, want), "%v: %s", args, out)
	}
	code, script, _ := podberth(t, "", "completion", "bash")
	require.Zero(t, code)
	require.Contains(t, script, "kubectl")
}

// -n and -A choose what is printed, as with kubectl; a name without a namespace is in the namespace of -n.
func TestNamespaces(t *testing.T) {
	_, one, _ := podberth(t, "", "place", "-f", shipped, "-n", "data", "-o", "name")
	require.Equal(t, "pod/data/postgres-3\npod/data/warehouse-6d4b75cb6d-m2gt9\n", one)
	_, all, _ := podberth(t, "", "place", "-f", shipped, "-o", "name")
	require.Contains(t, all, "pod/ml/")
	code, out, errs := podberth(t, "", "why", "postgres-3", "-n", "data", "-f", shipped)
	require.Zero(t, code, errs)
	require.Contains(t, out, "Pod data/postgres-3 waits: ")
	_, spread, errs := podberth(t, "", "check", "--spread", "postgres-3", "-n", "data", "-f", shipped)
	require.Contains(t, spread, "data/postgres-3", errs)
	_, same, _ := podberth(t, "", "why", "pod/data/postgres-3", "-f", shipped)
	require.Equal(t, out, same)
	dump, err := os.ReadFile(shipped)
	require.NoError(t, err)
	_, same, _ = podberth(t, string(dump), "why", "data/postgres-3", "-f", "-")
	require.Equal(t, out, same, "from standard input")
}

func TestVersion(t *testing.T) {
	_, out, _ := podberth(t, "", "version")
	require.Regexp(t, `^kubectl podberth \S+, Kubernetes v1\.37\.2\n$`, out)
}
