package release_test

import (
	"testing"

	"github.com/podberth/podberth/internal/testkit"
	"github.com/podberth/podberth/release"
)

func TestMisuse(t *testing.T) {
	testkit.Misuse(t, map[string]any{
		"Versions": release.Versions, "Parse": release.Parse, "Differences": release.Differences, "Between": release.Between, "Areas": release.Areas, "Announced": release.Announced,
		"Version": func() release.Version { return 0 }, "Difference": func() release.Difference { return release.Difference{} }, "Announcement": func() release.Announcement { return release.Announcement{} },
	}, nil)
}
