package runtimeclass

import (
	"testing"

	"github.com/podberth/podberth/internal/testkit"
)

// Nil, zero and extreme arguments give an error or the zero answer.
func TestMisuse(t *testing.T) {
	testkit.Misuse(t, map[string]any{
		"Admit": Admit,
	}, nil)
}
