package command_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/tools/anonymise"
	"github.com/podberth/podberth/tools/dump"
)

// hostile ends a line, begins another, clears the screen, sets the title of a window and turns the direction of the text.
const hostile = "\n\x1b[2J\x1b]0;t\x07\r\u202eBROKEN\u0085\t"

// small is a cluster with an object of every kind, so that hostile objects have something to be about.
const small = "testdata/hostile.yaml"

// whatPrints are the commands whose texts the test reads.
var whatPrints = [][]string{
	{"why", "default/waits"}, {"why", "default/runs"}, {"why", "default/runs", "--all"}, {"place", "-o", "wide"}, {"place", "--map"}, {"place", "--width", "60"}, {"place", "-o", "name"}, {"place", "--log", "-"},
	{"fit", "default/runs"}, {"drain", "n1", "--force"}, {"drain", "n1", "--ignore-daemonsets", "--delete-emptydir-data", "--force", "-o", "name"}, {"evict", "default/runs"},
	{"pressure", "n1"}, {"taints", "n1", "--admit"}, {"failures"}, {"failures", "-o", "name"}, {"lint"}, {"lint", "-o", "name"}, {"consolidate"}, {"rollout", "--ignore-daemonsets", "--force"},
	{"rollout", "--ignore-daemonsets", "--force", "--script"}, {"upgrade", "--from", "1.35", "--to", "1.36"}, {"check"},
	{"why", "default/waits", "--where", "n1"}, {"place", "--pack"}, {"place", "--preemption", "optimal"}, {"failures", "--headroom"}, {"preflight", "--from", "1.35", "--to", "1.36"}, {"taints", "n1", "-o", "name"},
	{"pressure", "n1", "-o", "name"}, {"fit", "default/runs", "-o", "name"}, {"evict", "default/runs", "-o", "name"}, {"rollout", "-o", "name"}, {"consolidate", "-o", "name"}, {"place", "--expand", "--admit"}, {"what-if", "--cordon", "n1", "--evict", "default/runs"}, {"what-if", "--remove-node", "n1", "-o", "name"}, {"no-pods", "deployment/default/web"}, {"check", "--spread", "default/runs", "--place", "1", "--delete", "1"},
}

// variant is an object with hostile texts below a path, as JSON.
type variant struct {
	path string
	data []byte
}

// variants returns objects of a kind, each with hostile texts in one field right below path. Where the input refuses such an object,
// variants goes one field deeper: a field of its own for each object. It checks that the errors of refused objects are escaped.
func variants(t *testing.T, kind schema.GroupVersionKind, object metav1.Object, path string) (list []variant) {
	t.Helper()
	for _, field := range testkit.TextFields(object, path) {
		if field == "TypeMeta" {
			continue
		}
		changed := reflect.New(reflect.TypeOf(object).Elem())
		data, err := json.Marshal(object)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, changed.Interface()))
		n := 0
		testkit.SetTexts(changed.Interface(), field, func(_, old string) string { n++; return old + hostile })
		if n == 0 {
			continue
		}
		data = encode(t, kind, changed.Interface())
		v := variant{field, data}
		if _, err := dump.Read([]string{"-"}, bytes.NewReader(data), dump.Options{}); err == nil {
			list = append(list, v)
			continue
		}
		require.Empty(t, broken(run(t, []string{"place"}, data)), "%s %s", kind.Kind, field)
		list = append(list, variants(t, kind, object, field)...)
	}
	return list
}

// run returns what a command prints about objects, each of which is JSON, and its errors.
func run(t *testing.T, args []string, objects ...[]byte) (text string) {
	_, out, errs := podberth(t, string(bytes.Join(objects, []byte("\n---\n"))), append(args, "-f", "-")...)
	return out + errs
}

// broken returns the lines that a terminal would not print as they are, or that a field of the input began.
func broken(text string) (lines []string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if strings.ContainsFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) || strings.HasPrefix(strings.TrimSpace(line), "BROKEN") {
			lines = append(lines, line)
		}
	}
	return lines
}

// every asks every command about every field in TestTerminalIsNotTheDumps, which takes a minute.
var every = flag.Bool("every", false, "TestTerminalIsNotTheDumps asks every command about every field; with -rewrite it writes testdata/prints.txt")

// No text of a dump reaches the terminal as it is: not as a name or any other field of any kind, not in tables, texts, names, scripts,
// warnings or errors. The file testdata/prints.txt has the commands that print a field. The test asks these about an object with this field
// hostile, and a quarter of the commands about dumps in which a field is hostile in all objects. With -every all are asked about each.
func TestTerminalIsNotTheDumps(t *testing.T) {
	testkit.Sequential(t)
	const file = "testdata/prints.txt"
	known, err := os.ReadFile(file)
	require.NoError(t, err)
	o, err := dump.Read([]string{small}, nil, dump.Options{})
	require.NoError(t, err)
	var all [][]byte
	kinds := map[string]bool{}
	for kind, object := range o.All() {
		kinds[kind.Kind] = true
		all = append(all, encode(t, kind, object))
	}
	require.Len(t, kinds, reflect.TypeFor[dump.Objects]().NumField()-8, "every kind")
	together := map[string][][]byte{} // the objects, by the field that is hostile in all of them
	var prints strings.Builder
	at := 0
	for kind, object := range o.All() {
		list := variants(t, kind, object, "")
		require.NotEmpty(t, list, kind.Kind)
		for _, v := range list {
			if together[v.path] == nil {
				together[v.path] = slices.Clone(all)
			}
			together[v.path][at] = v.data
			objects := slices.Clone(all)
			objects[at] = v.data
			for _, args := range whatPrints {
				pair := fmt.Sprintf("%s %s %s: %s\n", kind.Kind, object.GetName(), v.path, strings.Join(args, " "))
				if (*every || bytes.Contains(known, []byte(pair))) && printsHostile(t, args, pair, objects) {
					prints.WriteString(pair)
				}
			}
		}
		at++
	}
	for n, path := range slices.Sorted(maps.Keys(together)) {
		for k, args := range whatPrints {
			if *every || (n+k)%4 == 0 {
				printsHostile(t, args, "every "+path, together[path])
			}
		}
	}
	testkit.Golden(t, file, prints.String())
}

// printsHostile asks a command about objects with hostile texts in what, and returns whether it prints one.
func printsHostile(t *testing.T, args []string, what string, objects [][]byte) bool {
	text := run(t, args, objects...)
	if lines := broken(text); len(lines) > 0 {
		t.Errorf("%v, %s: %.200q", args, what, lines[0])
	}
	return strings.Contains(text, "BROKEN")
}

func encode(t *testing.T, kind schema.GroupVersionKind, object any) []byte {
	object.(interface {
		SetGroupVersionKind(schema.GroupVersionKind)
	}).SetGroupVersionKind(kind)
	data, err := json.Marshal(object)
	require.NoError(t, err)
	return data
}

// No message of an API server or a kubelet reaches the terminal as it is, in errors or in warnings.
func TestTerminalIsNotTheServers(t *testing.T) {
	s, cluster := serve(t)
	s.adds, s.refuses = hostile, http.StatusInternalServerError
	node := s.lists["/api/v1/nodes"][0]["metadata"].(anonymise.Tree)["name"].(string)
	said := 0
	for kind, path := range resources {
		s.forbidden = []string{path[strings.LastIndex(path, "/")+1:]}
		for _, args := range [][]string{{"why", "data/postgres-0"}, {"place", "-A"}, {"drain", node, "--partial"}, {"lint", "-A"}, {"pressure", node}, {"snapshot", "-o", t.TempDir() + "/s.yaml"}} {
			_, out, errs := podberth(t, "", append(slices.Clone(args), cluster...)...)
			require.Empty(t, broken(out+errs), "%v, %s", args, kind)
			said += strings.Count(out+errs, "BROKEN")
		}
	}
	require.Greater(t, said, 100)
	_, out, errs := podberth(t, "", append([]string{"pressure", node}, cluster...)...)
	require.Contains(t, errs, `is forbidden \x1b[2J`, "what a kubelet says")
	require.Empty(t, broken(out+errs))
}
