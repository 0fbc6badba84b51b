package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// The template of the krew manifest gives a manifest for the archives that CONTRIBUTING.md makes.
func TestKrew(t *testing.T) {
	var urls []string
	file, err := template.New("krew.yaml").Funcs(template.FuncMap{"addURIAndSha": func(url, tag string) (string, error) {
		parsed, err := template.New("url").Parse(url)
		if err != nil {
			return "", err
		}
		var b strings.Builder
		if err := parsed.Execute(&b, map[string]string{"TagName": tag}); err != nil {
			return "", err
		}
		urls = append(urls, b.String())
		return "uri: " + b.String() + "\n    sha256: " + strings.Repeat("0", 64), nil
	}}).ParseFiles("krew.yaml")
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, file.Execute(&out, map[string]string{"TagName": "cmd/v0.1.0"}))
	var manifest struct {
		APIVersion, Kind string
		Metadata         struct{ Name string }
		Spec             struct {
			Version, Homepage, ShortDescription, Description string
			Platforms                                        []struct {
				Selector    struct{ MatchLabels map[string]string }
				URI, SHA256 string
				Bin         string
			}
		}
	}
	require.NoError(t, yaml.UnmarshalStrict(out.Bytes(), &manifest), out.String())
	require.Equal(t, "krew.googlecontainertools.github.com/v1alpha2", manifest.APIVersion)
	require.Equal(t, "Plugin", manifest.Kind)
	require.Equal(t, "podberth", manifest.Metadata.Name)
	require.Regexp(t, `^v\d+\.\d+\.\d+$`, manifest.Spec.Version)
	require.LessOrEqual(t, len(manifest.Spec.ShortDescription), 50)
	guide, err := os.ReadFile("../../CONTRIBUTING.md")
	require.NoError(t, err)
	loop := regexp.MustCompile(`for os in ([a-z ]+); do for arch in ([a-z0-9 ]+); do`).FindStringSubmatch(string(guide))
	require.NotNil(t, loop, "CONTRIBUTING.md has the loop over the platforms")
	var made []string
	for _, system := range strings.Fields(loop[1]) {
		for _, arch := range strings.Fields(loop[2]) {
			made = append(made, system+"_"+arch)
		}
	}
	require.Len(t, manifest.Spec.Platforms, 5)
	for k, p := range manifest.Spec.Platforms {
		platform := p.Selector.MatchLabels["os"] + "_" + p.Selector.MatchLabels["arch"]
		require.Contains(t, made, platform)
		require.Equal(t, "https://github.com/podberth/podberth/releases/download/cmd/v0.1.0/kubectl-podberth_"+platform+".tar.gz", p.URI)
		require.Equal(t, urls[k], p.URI)
		require.Equal(t, p.Selector.MatchLabels["os"] == "windows", strings.HasSuffix(p.Bin, ".exe"))
	}
}
