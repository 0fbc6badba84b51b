package report

import (
	"fmt"
	"strings"
)

// APIVersion is the apiVersion of every JSON answer of the programs.
const APIVersion = "podberth.io/v1alpha1"

// Head is the beginning of every JSON answer. An answer embeds it.
type Head struct {
	APIVersion string `json:"apiVersion"` // podberth.io/v1alpha1
	Kind       string `json:"kind"`       // which answer this is
}

// HeadOf returns the head of an answer of a kind.
func HeadOf(kind string) Head { return Head{APIVersion, kind} }

// Few returns the first three names and how many more there are, "-" for none.
func Few(names []string) string {
	const most = 3
	switch {
	case len(names) == 0:
		return "-"
	case len(names) <= most:
		return strings.Join(names, ",")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ","), len(names)-most)
}

// NotTried returns the end of an answer, which says how much a search left out: "not tried: 2 changes; --time and --steps say how long to
// search". It is "" for 0.
func NotTried(n int, noun string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("\nnot tried: %s; --time and --steps say how long to search\n", Count(n, noun))
}

// Count returns a number of things in words: "1 pod", "2 pods". The plural of noun has an s at its end.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
