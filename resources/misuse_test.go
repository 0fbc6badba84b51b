package resources_test

import (
	"testing"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/resources"
)

// Nil, zero and extreme arguments give the zero answer, except for columns that do not exist.
func TestMisuse(t *testing.T) {
	testkit.Misuse(t, map[string]any{
		"Schema":         func() *resources.Schema { return new(resources.Schema) },
		"Vector":         func() resources.Vector { return resources.Vector{1, -1} },
		"nil Vector":     func() resources.Vector { return nil },
		"Verdict.String": resources.Verdict.String,
		"Add":            resources.Add,
		"FromList":       resources.FromList,
		"IsExtended":     resources.IsExtended,
		"IsScalar":       resources.IsScalar,
		"Value":          resources.Value,
		"CheckQuantity":  resources.CheckQuantity,
		"ParseQuantity":  resources.ParseQuantity,
		"HugeExponent":   resources.HugeExponent[string],
		"Human":          resources.Human,
		"Exact":          resources.Exact,
		"Seconds":        resources.Seconds,
	}, map[string]string{
		"FromList":        "the schema gets the columns: it must not be nil",
		"Schema.Name":     "a column is a number from 0 to Len()-1",
		"Vector.At":       "columns begin at 0",
		"nil Vector.Add":  "the vector must be as long as the other",
		"nil Vector.Sub":  "the vector must be as long as the other",
		"nil Vector.At":   "columns begin at 0",
		"Vector.Grow":     "no memory has so many columns",
		"nil Vector.Grow": "no memory has so many columns",
	})
}
