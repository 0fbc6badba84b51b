package report

import "fmt"

// APIVersion is the apiVersion of every JSON answer of the programs.
const APIVersion = "podberth.io/v1alpha1"

// Head is the beginning of every JSON answer. An answer embeds it.
type Head struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// HeadOf returns the head of an answer of a kind.
func HeadOf(kind string) Head { return Head{APIVersion, kind} }

// Count returns a number of things in words: "1 pod", "2 pods". The plural of noun has an s at its end.
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
