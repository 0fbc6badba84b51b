package command_test

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/podberth/podberth/internal/testkit"
)

// model is what the picture shows of a page.
type model struct {
	Zones []string
	Nodes []struct {
		Name string
		Zone int
		Use  []struct{ Percent int }
	}
	Pods     struct{ Name []string }
	Verdicts []struct {
		Cause string
		Help  []string
	}
	Of map[string]int
}

// docs/picture.svg is what the page about the shipped cluster begins with: the map of the nodes, and why pods wait.
func TestPicture(t *testing.T) {
	code, page, errs := podberth(t, "", "place", "-A", "-o", "html", "-f", shipped)
	require.Zero(t, code, errs)
	found := regexp.MustCompile(`(?s)<script id="model" type="application/json">(.*?)</script>`).FindStringSubmatch(page)
	require.NotNil(t, found)
	var m model
	require.NoError(t, json.Unmarshal([]byte(found[1]), &m))
	got := draw(m)
	require.Less(t, len(got), 12_000)
	testkit.Golden(t, "../../../docs/picture.svg", got)
}

// draw draws the nodes by zone, each with a bar for cpu and one for memory, and the causes of pods of four owners.
func draw(m model) string {
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 330" font-family="system-ui, sans-serif" font-size="13">` +
		`<rect width="880" height="330" rx="8" fill="#fff" stroke="#c9ced6"/>` + "\n")
	text := func(x, y int, style, s string) {
		fmt.Fprintf(&b, `<text x="%d" y="%d"%s>%s</text>`+"\n", x, y, style, html.EscapeString(s))
	}
	const quiet, strong = ` fill="#4d5560"`, ` font-weight="600"`
	rows := make([]int, len(m.Zones))
	for zone, name := range m.Zones {
		text(20+zone*145, 30, strong, name)
	}
	for _, n := range m.Nodes {
		x, y := 20+n.Zone*145, 42+rows[n.Zone]*68
		rows[n.Zone]++
		fmt.Fprintf(&b, `<rect x="%d" y="%d" width="135" height="60" rx="4" fill="#f5f6f8" stroke="#c9ced6"/>`+"\n", x, y)
		text(x+8, y+18, "", n.Name)
		for k, resource := range []string{"cpu", "memory"} {
			at := y + 26 + k*16
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="60" height="10" fill="#c9ced6"/><rect x="%[1]d" y="%[2]d" width="%d" height="10" fill="%s"/>`+"\n",
				x+67, at, n.Use[k].Percent*60/100, []string{"#2b6cb0", "#2f855a"}[k])
			text(x+8, at+9, quiet, resource)
		}
	}
	text(470, 30, strong, "Why pods wait")
	y, owners := 52, map[string]bool{}
	for k, name := range m.Pods.Name {
		of, waits := m.Of[strconv.Itoa(k)]
		owner, _, _ := strings.Cut(name, "-")
		if !waits || m.Verdicts[of].Cause == "" || owners[owner] || len(owners) == 3 {
			continue
		}
		owners[owner] = true
		text(470, y, strong, name)
		y += 17
		for _, line := range cut(m.Verdicts[of].Cause, 54, 2) {
			text(470, y, "", line)
			y += 16
		}
		if help := m.Verdicts[of].Help; len(help) > 0 {
			for _, line := range cut("Do: "+help[0], 54, 2) {
				text(470, y, ` fill="#10703c"`, line)
				y += 16
			}
		}
		y += 6
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// cut breaks a text into at most n lines of about width letters; … says that there is more.
func cut(text string, width, n int) (lines []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && len(line)+1+len(word) > width {
			if len(lines) == n-1 {
				return append(lines, line+" …")
			}
			lines, line = append(lines, line), ""
		}
		line = strings.TrimSpace(line + " " + word)
	}
	return append(lines, line)
}
