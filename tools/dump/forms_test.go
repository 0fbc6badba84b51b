package dump

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

func wideText(order binary.AppendByteOrder, text string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune("\ufeff" + text)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

// Every object of a text is read, in whatever form documents follow each other.
func TestNothingIsDropped(t *testing.T) {
	a, b := fmt.Sprintf(podJSON, "a", "1"), fmt.Sprintf(podJSON, "b", "1")
	inline := "{apiVersion: v1, kind: Pod, metadata: {name: %s, namespace: shop}}"
	block := "apiVersion: v1\nkind: Pod\nmetadata:\n  name: %s\n  namespace: shop\n"
	both := fmt.Sprintf(block, "a") + "---\n" + fmt.Sprintf(block, "b")
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(both))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	testkit.Run(t, []struct{ name, why, text string }{
		{"JSON stream", "jq prints one object after the other", a + "\n" + b + "\n"},
		{"JSON stream without a break", "nothing parts the objects", a + b},
		{"Lists", "kubectl get -o json twice", `{"apiVersion":"v1","kind":"List","items":[` + a + "]}\n" + `{"apiVersion":"v1","kind":"List","items":[` + b + "]}\n"},
		{"inline documents", "the document begins on the line that parts", "--- " + fmt.Sprintf(inline, "a") + "\n--- " + fmt.Sprintf(inline, "b") + "\n"},
		{"dots", "the other line that ends a document", fmt.Sprintf(block, "a") + "...\n" + fmt.Sprintf(block, "b") + "...\n"},
		{"directive", "it has no document of its own", "%YAML 1.1\n---\n" + both},
		{"UTF-16, small end first", "PowerShell writes it", wideText(binary.LittleEndian, both)},
		{"UTF-16, big end first", "the other order", wideText(binary.BigEndian, both)},
		{"byte order mark", "of UTF-8", "\ufeff" + both},
		{"packed", "also on standard input", packed.String()},
		{"typed list", "items take the kind of the list", `{"kind":"PodList","apiVersion":"v1","items":[{"metadata":{"name":"a","namespace":"shop"}},{"metadata":{"name":"b","namespace":"shop"}}]}`},
		{"typed list, kind last", "as YAML sorts the keys", "apiVersion: v1\nitems:\n- metadata: {name: a, namespace: shop}\n- metadata: {name: b, namespace: shop}\nkind: PodList\n"},
		{"JSON and YAML", "a text may have both", a + "\n---\n" + fmt.Sprintf(block, "b")},
		{"equal copies", "two dumps may overlap", both + "---\n" + both},
	}, func(t *testing.T, c struct{ name, why, text string }) {
		o, err := readText(c.text, Options{})
		require.NoError(t, err)
		require.Len(t, o.Pods, 2)
		require.Equal(t, "shop/a shop/b", o.Pods[0].Namespace+"/"+o.Pods[0].Name+" "+o.Pods[1].Namespace+"/"+o.Pods[1].Name)
	})
}

// Input without a single object that is read is an error of one line.
func TestNothingReadIsNoSuccess(t *testing.T) {
	testkit.Run(t, []struct{ name, why, text, want string }{
		{"empty", "a pipe whose beginning failed", "", "standard input: is empty: must hold Kubernetes objects as YAML or JSON"},
		{"comments", "no document", "# nothing\n---\n", "standard input: is empty: must hold Kubernetes objects as YAML or JSON"},
		{"other kinds", "nothing that is read", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n", "standard input: Required value: no object of a kind that is read, only Secret"},
		{"empty List", "kubectl found nothing", "apiVersion: v1\nkind: List\nitems: []\n", "standard input: Required value: no object of a kind that is read"},
		{"scalar", "no Go types in the text", "hello", `standard input: document 1: not a Kubernetes object: Invalid value: "hello": must be an object with apiVersion and kind`},
		{"array", "no Go types in the text", "[1, 2]", `standard input: document 1: not a Kubernetes object: Invalid value: [1,2]: must be an object with apiVersion and kind`},
		{"rest", "something behind the object", `{"kind":"Secret"} {"kind":`, "standard input: document 2: the JSON ends too early"},
		{"words behind an object", "the line of the error is said, also when the decoder does not", `{"kind":"Node","metadata":{"name":"n1"}} garbage`, "standard input: document 1: yaml: line 1: did not find expected <document start>"},
	}, func(t *testing.T, c struct{ name, why, text, want string }) {
		_, err := readText(c.text, Options{})
		require.EqualError(t, err, c.want)
	})
	folder := t.TempDir()
	_, err := Read([]string{folder}, nil, Options{})
	require.EqualError(t, err, folder+": is empty: must hold Kubernetes objects as YAML or JSON")
	require.NoError(t, os.WriteFile(filepath.Join(folder, "a.yaml"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "b.yaml"), []byte(nodeYAML), 0o600))
	_, err = Read([]string{folder}, nil, Options{})
	require.NoError(t, err, "another file of the folder has objects")
}

// Fields that the API does not have are counted in warnings, one for each kind and path, and are errors when asked for.
func TestUnknownFields(t *testing.T) {
	text := nodeYAML
	for _, name := range []string{"a", "b"} {
		text += "---\n" + strings.Replace(fmt.Sprintf(podJSON, name, "1"), `"spec":{`, `"spec":{"nodeSelectorr":{},`, 1) + "\n"
	}
	o, err := readText(text, Options{})
	require.NoError(t, err)
	want := `Pod: unknown field "spec.nodeSelectorr" in 2 object(s), the first is standard input: document 2 (Pod shop/a)`
	require.Equal(t, []string{want}, o.Warnings.Texts())
	_, err = readText(text, Options{Strict: true})
	require.EqualError(t, err, want)
	o, err = readText(strings.Replace(text, `"nodeSelectorr":{}`, `"nodeSelectorr":{},"colour":"red"`, 1), Options{})
	require.NoError(t, err)
	require.Equal(t, []string{`2 fields of pods are unknown and not read; the first: Pod: unknown field "spec.colour" in 1 object(s), the first is standard input: document 2 (Pod shop/a) (-v lists them)`}, o.Warnings.Lines())
}
