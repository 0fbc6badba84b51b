package testkit

import (
	"regexp"
	"slices"
)

var word = regexp.MustCompile(`\b[a-z]+\b`)

// compounds are words of English and of Kubernetes that are two words of a text put together.
var compounds = []string{"without", "namespace", "namespaces", "whatever", "another", "cannot", "into", "nothing", "something", "anything", "whether", "beside", "besides", "kubelet", "kubeconfig", "textfile", "filename",
	"timeout", "podgroup"}

// JoinedWords returns the words of a text that are two other words of it, without what should be between them: "onlypods" in "only the
// pods; onlypods". Words of fewer than three letters do not count.
func JoinedWords(text string) (joined []string) {
	all := map[string]bool{}
	for _, w := range word.FindAllString(text, -1) {
		all[w] = true
	}
	for w := range all {
		for at := 3; at <= len(w)-3; at++ {
			if all[w[:at]] && all[w[at:]] && !slices.Contains(compounds, w) {
				joined = append(joined, w)
				break
			}
		}
	}
	slices.Sort(joined)
	return joined
}
