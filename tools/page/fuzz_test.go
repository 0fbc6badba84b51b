package page

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
)

// Whatever the texts of the cluster are, the file has two scripts, and the data in it are JSON.
func FuzzWrite(f *testing.F) {
	f.Add([]byte("web\x00n1\x00</script>"))
	f.Add([]byte("<!--<script>\x00]]>\x00\xff\u2028"))
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, data []byte) {
		texts := strings.SplitN(string(data)+"\x00\x00\x00", "\x00", 4)
		node := nodeOf(texts[0], texts[1], "4")
		node.Spec.Taints = []v1.Taint{{Key: texts[2], Effect: v1.TaintEffect(texts[1])}}
		p := New(texts[1], []*v1.Node{node}, []*v1.Pod{podOf(texts[2], texts[0], "1")})
		p.Summary, p.Text, p.Select = texts[0], texts[2], texts[1]
		p.Tell(Pod{Name: texts[1], State: texts[2], Message: texts[0]})
		p.Timeline = &Timeline{Title: texts[2]}
		p.Timeline.Add(texts[0], "", Span{Kind: Kind(texts[1]), Text: texts[2]})
		file := written(t, p)
		if n := strings.Count(strings.ToLower(file), "<script"); n != 2 {
			t.Fatalf("%d scripts", n)
		}
		modelOf(t, file)
	})
}
