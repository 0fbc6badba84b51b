package dump

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

const (
	nodeYAML = "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus: {allocatable: {cpu: '4', memory: 8Gi, pods: '10'}}\n"
	podJSON  = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"%s","namespace":"shop"},"spec":{"containers":[{"name":"c","resources":{"requests":{"cpu":"%s"}}}]}}`
)

func readText(text string, o Options) (*Objects, error) {
	return Read([]string{"-"}, strings.NewReader(text), o)
}

// The text of a quantity is looked at before the quantity is parsed: each of these kept a program busy for minutes.
func TestQuantityText(t *testing.T) {
	testkit.Run(t, []struct{ name, why, text, want string }{
		{"YAML", "twelve characters are enough", strings.Replace(nodeYAML, "8Gi", "'1e999999999'", 1), `standard input: document 1 (Node n1): status.allocatable[memory]: Invalid value: "1e999999999": must be a quantity with an exponent between -99 and 99`},
		{"JSON", "the same in a list", `{"kind":"List","apiVersion":"v1","items":[` + fmt.Sprintf(podJSON, "a", "1e999999999") + `]}`, `standard input: document 1, item 1 (Pod shop/a): spec.containers[0].resources.requests[cpu]: Invalid value: "1e999999999"`},
		{"number", "a number is a quantity as well", strings.Replace(fmt.Sprintf(podJSON, "a", "1"), `"cpu":"1"`, `"cpu":1e999999999`, 1), `requests[cpu]: Invalid value: 1e999999999: must be a quantity with an exponent`},
		{"escaped", "escapes hide nothing", fmt.Sprintf(podJSON, "a", `\u0031e999999999`), "must be a quantity with an exponent"},
		{"escaped in the middle", "escapes hide nothing", fmt.Sprintf(podJSON, "a", `1\u0065999999999`), "must be a quantity with an exponent"},
		{"blanks", "decoding trims blanks", fmt.Sprintf(podJSON, "a", `\n 1e999999999 `), "must be a quantity with an exponent"},
		{"negative exponent", "rounding up takes as long", fmt.Sprintf(podJSON, "a", `1e-999999999`), "must be a quantity with an exponent"},
		{"long", "digits cost as well", fmt.Sprintf(podJSON, "a", strings.Repeat("9", 1<<20)), "must be a quantity of at most 64 characters"},
	}, func(t *testing.T, c struct{ name, why, text, want string }) {
		_, err := readText(c.text, Options{})
		require.ErrorContains(t, err, c.want)
	})
	o, err := readText(strings.Replace(nodeYAML, "metadata: {", "metadata: {uid: '1e999999999', annotations: {a: '1e999999999'}, ", 1), Options{})
	require.NoError(t, err, "only quantities are")
	require.Len(t, o.Nodes, 1)
}

// memory returns how much f allocates.
func memory(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Small files that would take gigabytes are refused, with the limit and the flag that raises it.
func TestLimits(t *testing.T) {
	testkit.Sequential(t)
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	require.NoError(t, err)
	block := bytes.Repeat([]byte("---\n"+strings.Repeat("# nothing\n", 400)), 1<<8)
	for range 300 {
		_, err = z.Write(block)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	aliases := "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: &a " + strings.Repeat("x", 1<<19) + "\n" + strings.Repeat("  b%d: *a\n", 1000)
	for i := range 1000 {
		aliases = strings.Replace(aliases, "%d", fmt.Sprint(i), 1)
	}
	nested := strings.Repeat(`{"kind":"List","apiVersion":"v1","items":[`, 1000) + strings.Repeat("]}", 1000)
	testkit.Run(t, []struct{ name, why, text, want string }{
		{"gzip", "300 MB in a file of 2 MB", packed.String(), "standard input: document 1: Too long: a file may have at most 268435456 bytes, unpacked; -max-size raises the limit"},
		{"aliases", "half a megabyte, a thousand times", aliases, "standard input: document 1: Too long: one object may have at most 16777216 bytes, aliases expanded; -max-size raises the limit"},
		{"aliases of aliases", "each level ten times the one before", "a: &a [" + strings.Repeat("x,", 10) + "]\nb: &b [" + strings.Repeat("*a,", 10) + "]\nc: &c [" + strings.Repeat("*b,", 10) + "]\nd: &d [" + strings.Repeat("*c,", 10) + "]\ne: &e [" + strings.Repeat("*d,", 10) + "]\nf: &f [" + strings.Repeat("*e,", 10) + "]\ng: [" + strings.Repeat("*f,", 10) + "]\n", "excessive aliasing"},
		{"Lists in Lists", "a copy for each level", nested, "Too many: objects and lists may be nested 500 deep"},
		{"Lists in few Lists", "still more than anybody writes", strings.Repeat(`{"kind":"List","apiVersion":"v1","items":[`, 20) + strings.Repeat("]}", 20), "Too many: Lists may be nested 8 deep"},
		{"lists in lists", "JSON", `{"kind":"Pod","a":` + strings.Repeat("[", 100000) + strings.Repeat("]", 100000) + "}", "Too many: objects and lists may be nested 500 deep"},
		{"lists in lists, YAML", "YAML", "kind: Pod\na: " + strings.Repeat("[", 2000) + strings.Repeat("]", 2000), "Too many: objects and lists may be nested 500 deep"},
		{"an object", "one string", `{"kind":"Pod","a":"` + strings.Repeat("x", 17<<20) + `"}`, "Too long: one object may have at most 16777216 bytes"},
		{"an object, YAML", "one string", "kind: Pod\na: " + strings.Repeat("x", 17<<20), "Too long: one object may have at most 16777216 bytes"},
	}, func(t *testing.T, c struct{ name, why, text, want string }) {
		var err error
		took := memory(func() { _, err = readText(c.text, Options{}) })
		require.ErrorContains(t, err, c.want)
		require.Less(t, took, uint64(400<<20), "bytes allocated")
	})
	_, err = readText(strings.Repeat("---\n# nothing\n", 100000)+nodeYAML, Options{MaxSize: 1 << 20})
	require.ErrorContains(t, err, "Too long: a file may have at most 1048576 bytes")
	_, err = readText(strings.Repeat("---\n# nothing\n", 100000)+nodeYAML, Options{MaxSize: 16 << 20})
	require.NoError(t, err)
}

// long is a List of many pods, made while it is read.
type long struct {
	n, of int
	yaml  bool
	rest  []byte
}

func (l *long) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		pod := fmt.Sprintf(podJSON, fmt.Sprintf("p%d", l.n), "1")
		filler := strings.Repeat("x", 1000)
		switch {
		case l.n > l.of:
			return 0, io.EOF
		case l.n == l.of && l.yaml:
			l.rest = []byte("kind: List\nmetadata:\n  resourceVersion: \"\"\n")
		case l.n == l.of:
			l.rest = []byte("]}")
		case l.yaml:
			l.rest = []byte(fmt.Sprintf("- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: p%d\n    managedFields:\n    - manager: %s\n  spec:\n    containers:\n    - name: c\n", l.n, filler))
		default:
			l.rest = []byte(",\n" + strings.Replace(pod, `"metadata":{`, `"metadata":{"managedFields":[{"manager":"`+filler+`"}],`, 1))
		}
		if l.n == 0 && l.yaml {
			l.rest = append([]byte("apiVersion: v1\nitems:\n"), l.rest...)
		} else if l.n == 0 {
			l.rest = append([]byte(`{"apiVersion":"v1","kind":"List","items":[`), l.rest[2:]...)
		}
		l.n++
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// A List is read item by item: what is held is the objects, not the text.
func TestStreamsAreDecodedAsStreams(t *testing.T) {
	for _, yaml := range []bool{false, true} {
		in := &long{of: 5000, yaml: yaml}
		o, err := Read([]string{"-"}, in, Options{})
		require.NoError(t, err)
		require.Len(t, o.Pods, 5000)
		require.Equal(t, "p4999", o.Pods[4999].Name)
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		require.Less(t, m.HeapAlloc, uint64(40<<20), "6 MB of text, 5,000 pods of about 2 kB")
		runtime.KeepAlive(o)
	}
}

// A key twice, and text that is no UTF-8, are refused with their position, in JSON as in YAML.
func TestDuplicateKeysAndUTF8(t *testing.T) {
	testkit.Run(t, []struct{ name, why, text, want string }{
		{"JSON key", "decoders take the last", "{\"apiVersion\":\"v1\",\n\"kind\":\"Pod\",\"metadata\":{\"name\":\"a\",\n\"name\":\"b\"}}", "standard input: document 1: line 3: metadata.name: Duplicate value: the key stands twice"},
		{"JSON key in an item", "the same in a list", `{"kind":"List","apiVersion":"v1","items":[` + "\n" + `{"kind":"Pod","metadata":{"name":"a"},` + "\n" + `"metadata":{"name":"a"}}]}`, "standard input: document 1, item 1: line 3: metadata: Duplicate value: the key stands twice"},
		{"JSON items", "the outermost object", `{"kind":"List","items":[],"items":[]}`, "items: Duplicate value: the key stands twice"},
		{"JSON key with an escape", "the same key", `{"kind":"Pod","\u006bind":"Pod"}`, "kind: Duplicate value"},
		{"JSON key among many", "long objects are searched in another way", `{"kind":"Pod",` + keys(100) + `"k7":1}`, "k7: Duplicate value"},
		{"YAML key", "refused by the parser", "---\napiVersion: v1\nkind: Pod\nkind: Pod\n", `line 4: key "kind" already set`},
		{"YAML keys as text", "1 and '1' are one key in JSON", "apiVersion: v1\nkind: Pod\na: {1: a, '1': b}\n", "1: Duplicate value"},
		{"JSON UTF-8", "decoders replace the byte", "{\"kind\":\n\"Pod\xff\"}", "standard input: document 1: line 2: Invalid value: byte 0xff: must be UTF-8"},
		{"YAML UTF-8", "the same words", "kind:\n  Pod\xff\n", "standard input: document 1: line 2: Invalid value: byte 0xff: must be UTF-8"},
		{"cut", "a character that never ends", "kind: Pod\nname: \xc3", "line 2: Invalid value: byte 0xc3: must be UTF-8"},
		{"half a surrogate pair", "an escape that is no character", `{"kind":"Pod","a":"\ud800"}`, "a: Invalid value: \\ud800: must be UTF-8"},
	}, func(t *testing.T, c struct{ name, why, text, want string }) {
		_, err := readText(c.text, Options{})
		require.ErrorContains(t, err, c.want)
	})
	for n := range 8 { // characters on both sides of the ends of buffers
		text := nodeYAML + "# " + strings.Repeat("x", 64<<10-300+n) + strings.Repeat("ä€😀", 50000) + "\n"
		_, err := readText(text, Options{})
		require.NoError(t, err)
	}
}

func keys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `"k%d":1,`, i)
	}
	return b.String()
}

// A UID that two objects have is an error that names both.
func TestDuplicateUIDs(t *testing.T) {
	_, err := readText(strings.Replace(nodeYAML, "{name: n1", "{name: n1, uid: u", 1)+"---\n"+strings.Replace(nodeYAML, "{name: n1", "{name: n2, uid: u", 1), Options{})
	require.EqualError(t, err, `standard input: document 2 (Node n2): metadata.uid: Duplicate value: "u": that of Node n1 at standard input: document 1`)
}

// Any bytes are read or refused, fast.
func FuzzRead(f *testing.F) {
	for _, s := range []string{nodeYAML, fmt.Sprintf(podJSON, "a", "1"), "---\n...\n--- {kind: Pod}\n", `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a"}}]}`, "items:\n- a\nkind: List\n", "\xff\xfea\x00", "\x1f\x8b"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := Read([]string{"-"}, bytes.NewReader(text), Options{})
		require.True(t, (o == nil) == (err != nil))
		if err != nil {
			require.NotEmpty(t, err.Error())
		}
	})
}

// What is read does not depend on how the text is cut into pieces.
func TestAnyPieces(t *testing.T) {
	folder := t.TempDir()
	text, err := io.ReadAll(&long{of: 1500, yaml: true})
	require.NoError(t, err)
	whole := Options{}
	path := filepath.Join(folder, "a.yaml")
	require.NoError(t, os.WriteFile(path, append(text, ("---\n"+nodeYAML)...), 0o600))
	want, err := Read([]string{path}, nil, whole)
	require.NoError(t, err)
	require.Len(t, want.Pods, 1500)
	got, err := Read([]string{"-"}, &ragged{rand.New(rand.NewSource(1)), append(text, ("---\n" + nodeYAML)...)}, whole)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

type ragged struct {
	rand *rand.Rand
	rest []byte
}

func (r *ragged) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.rest[:min(len(r.rest), 1+r.rand.Intn(5000))])
	r.rest = r.rest[n:]
	return n, nil
}
