// Package semantic compares API objects as the API server does.
package semantic

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/third_party/forked/golang/reflect"
)

var equalities = reflect.EqualitiesOrDie(
	func(a, b resource.Quantity) bool { return a.Cmp(b) == 0 },
	func(a, b metav1.Time) bool { return a.Equal(&b) },
	func(a, b metav1.MicroTime) bool { return a.Equal(&b) },
)

// Equal reports whether a and b are equal: nil and empty lists and maps are, and amounts and times that are written in two ways.
// a and b have the same type.
func Equal(a, b any) bool { return equalities.DeepEqual(a, b) }
