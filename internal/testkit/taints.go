package testkit

import (
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Taint makes a taint from "key=value:Effect". The value and the effect may be missing.
func Taint(text string) v1.Taint {
	pair, effect, _ := strings.Cut(text, ":")
	key, value, _ := strings.Cut(pair, "=")
	return v1.Taint{Key: key, Value: value, Effect: v1.TaintEffect(effect)}
}

// Taints makes a list of taints.
func Taints(texts ...string) (list []v1.Taint) {
	for _, text := range texts {
		list = append(list, Taint(text))
	}
	return list
}

// Toleration makes a toleration from "key operator value effect" and an optional number of seconds. "_" is the empty string.
func Toleration(text string, seconds ...int64) v1.Toleration {
	words := strings.Fields(text)
	for i := range words {
		if words[i] == "_" {
			words[i] = ""
		}
	}
	t := v1.Toleration{Key: words[0], Operator: v1.TolerationOperator(words[1]), Value: words[2], Effect: v1.TaintEffect(words[3])}
	if len(seconds) > 0 {
		t.TolerationSeconds = &seconds[0]
	}
	return t
}
