package extender

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// Both sides refuse a document with a wrong character or word in the same words, or give it the same meaning.
func TestMutatedConfigurations(t *testing.T) {
	words := []string{"null", "0", "-1", "true", "[]", "{}", `""`, `"*"`, "1.5", "99999999999999999999", `"v1"`, "profiles", "name", "args", " ", ":", ",", "\n", "\t", "- ", "#", "'"}
	for k := range *configurations / 2 {
		s := *seed + uint64(k)
		t.Run("", func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("-config-seed %d -configurations 2", s)
				}
			}()
			r := rand.New(rand.NewPCG(s, 1))
			text := documents{r}.document()
			if r.IntN(2) == 0 { // YAML in block style has other mistakes
				text = block(text)
			}
			for range 1 + r.IntN(2) {
				at, n := r.IntN(len(text)), 1+r.IntN(6)
				rest := text[min(at+n, len(text)):]
				if r.IntN(2) == 0 {
					rest = text[at:]
				}
				text = text[:at] + words[r.IntN(len(words))] + rest
			}
			sameConfiguration(t, text)
		})
	}
}

// block writes the outermost level of a JSON document as lines of YAML.
func block(text string) string {
	var out strings.Builder
	depth, quoted := 0, false
	text = text[1 : len(text)-1]
	for k := 0; k < len(text); k++ {
		switch c := text[k]; {
		case c == '"' && (k == 0 || text[k-1] != '\\'):
			quoted = !quoted
			out.WriteByte(c)
		case !quoted && (c == '{' || c == '['):
			depth++
			out.WriteByte(c)
		case !quoted && (c == '}' || c == ']'):
			depth--
			out.WriteByte(c)
		case !quoted && depth == 0 && c == ',':
			out.WriteByte('\n')
		case !quoted && depth == 0 && c == ':':
			fmt.Fprint(&out, ": ")
		default:
			out.WriteByte(c)
		}
	}
	return out.String() + "\n"
}
