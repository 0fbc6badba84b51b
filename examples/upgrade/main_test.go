package main

import (
	"testing"

	"github.com/podberth/podberth/internal/testkit"
)

func TestMain(m *testing.M) { testkit.Main(m, main) }

func TestStreams(t *testing.T) {
	testkit.Streams(t, "upgrade", "-f", "-", "-from", "1.35", "-to", "1.36")
}
