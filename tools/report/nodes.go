package report

import (
	"regexp"
	"slices"
	"strings"
)

// Nodes shortens the names of nodes in tables. The nil value shortens none.
type Nodes struct {
	short   map[string]string
	endings []string
}

// ShortNodes returns the short forms of the names of a cluster's nodes: an ending from a point on that several nodes have is left
// out, such as .eu-west-1.compute.internal, where the rest is the name of one node alone. The rest has a letter, so that addresses
// stay whole. O(names).
func ShortNodes(names []string) *Nodes {
	n := &Nodes{short: map[string]string{}}
	ending, rests, whole := map[string]int{}, map[string]int{}, map[string]bool{}
	for _, name := range names {
		rest, end, _ := strings.Cut(name, ".")
		ending[end]++
		rests[rest]++
		whole[name] = true
	}
	for _, name := range names {
		rest, end, found := strings.Cut(name, ".")
		if !found || ending[end] < 2 || rests[rest] > 1 || whole[rest] || !strings.ContainsAny(strings.ToLower(rest), "abcdefghijklmnopqrstuvwxyz") {
			continue
		}
		n.short[name] = rest
		if !slices.Contains(n.endings, "."+end) {
			n.endings = append(n.endings, "."+end)
		}
	}
	slices.Sort(n.endings)
	return n
}

// Of returns the short form of a name, and the name itself when there is none.
func (n *Nodes) Of(name string) string {
	if n != nil && n.short[name] != "" {
		return n.short[name]
	}
	return name
}

// All returns the short forms of names, as a new slice.
func (n *Nodes) All(names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = n.Of(name)
	}
	return out
}

// In returns a text with the short forms of the names in it.
func (n *Nodes) In(text string) string {
	if n == nil || len(n.short) == 0 {
		return text
	}
	return nameInText.ReplaceAllStringFunc(text, n.Of)
}

var nameInText = regexp.MustCompile(`[A-Za-z0-9][A-Za-z0-9.-]*[A-Za-z0-9]`)

// Note is the line that says which endings tables leave out, "" when they leave out none.
func (n *Nodes) Note() string {
	if n == nil || len(n.endings) == 0 {
		return ""
	}
	return "Names of nodes are without " + strings.Join(n.endings, ", ") + ".\n"
}
