package dump

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Object reads one JSON object of a kind that [Read] knows. Errors begin with at, the position of the object.
func Object(data []byte, at string) (metav1.Object, error) {
	r := newReader(Options{})
	if err := r.one(data, at, position{file: at, document: 1, line: 1}, envelope{}); err != nil {
		return nil, err
	}
	for kind := range r.unknown {
		if known, version := otherVersion(kind); version != "" {
			return nil, fmt.Errorf("%s: apiVersion: Unsupported value: %q: supported values: %q", at, version, kinds[known].versions)
		}
		return nil, fmt.Errorf("%s: kind: Unsupported value: %q", at, kind)
	}
	if r.last == nil {
		return nil, fmt.Errorf("%s: kind: Invalid value: must be the kind of one object, not of a List", at)
	}
	return r.last, nil
}
