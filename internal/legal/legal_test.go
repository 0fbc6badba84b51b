package legal

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Value and Key are the functions of the API: for every text of up to four bytes of this alphabet, and for long texts.
func TestNames(t *testing.T) {
	check := func(s string) {
		if want := len(validation.IsValidLabelValue(s)) == 0; want != Value(s) {
			t.Fatalf("value %q: want %v", s, want)
		}
		if want := len(validation.IsQualifiedName(s)) == 0; want != Key(s) {
			t.Fatalf("key %q: want %v", s, want)
		}
	}
	var all func(s string, n int)
	all = func(s string, n int) {
		check(s)
		for _, c := range "aZ0-_./ \n\u00e4" {
			if n > 0 {
				all(s+string(c), n-1)
			}
		}
	}
	all("", 4)
	for _, s := range []string{"a-b/c", "a.b-c.d/e", "-a/c", "a-/c", "a.-b/c", "a-.b/c", "a..b/c", ".a/c", "a./c", "A-b/c"} {
		check(s)
	}
	for _, n := range []int{62, 63, 64, 252, 253, 254} {
		x := strings.Repeat("x", n)
		for _, s := range []string{x, x + "/name", "example.com/" + x, x[:n/2] + "." + x[:n-n/2-1] + "/name", "a/" + x + "/b"} {
			check(s)
		}
	}
}
