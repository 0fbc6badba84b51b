package testkit

import (
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// meantAsLink is a name in brackets that go doc shows as it stands, because it finds no such name.
var meantAsLink = regexp.MustCompile(`(?:^|[\s(,;:"“])\[\*?((?:[a-z][\w/]*\.)?[A-Z]\w*(?:\.[A-Z]\w*)?)\]`)

// quoted is a text of somebody else.
var quoted = regexp.MustCompile(`"[^"]*"`)

// fewestLinks bounds the links between names in the comments of exported names and packages.
const fewestLinks = 300

// Every link of a comment that go doc shows leads to a name: [Name], [Type.Method], [pkg.Name]. Doc links of internal packages are
// held to the same.
func TestDocLinks(t *testing.T) {
	w, links := compiledWorkspace(t), 0
	for folder, b := range w.own() {
		p, err := doc.NewFromFiles(w.fset, b.files, b.ImportPath, doc.PreserveAST)
		require.NoError(t, err)
		for _, text := range commentsOf(p) {
			found, lost := linksOf(p.Parser().Parse(text))
			for _, name := range lost {
				t.Errorf("%s: [%s] is no link: there is no such name", folder, name)
			}
			for _, l := range found {
				imp, name := l.ImportPath, strings.TrimPrefix(l.Recv+"."+l.Name, ".")
				if imp == "" {
					imp = b.ImportPath
				}
				if !w.has(imp, name) {
					t.Errorf("%s: a comment links to %s.%s, which does not exist", folder, imp, name)
				}
				links++
			}
		}
	}
	t.Logf("%d links", links)
	require.Greater(t, links, fewestLinks)
}

// commentsOf returns the texts that go doc shows of a package.
func commentsOf(p *doc.Package) []string {
	texts := []string{p.Doc}
	values := func(all ...*doc.Value) {
		for _, v := range all {
			texts = append(texts, v.Doc)
		}
	}
	funcs := func(all ...*doc.Func) {
		for _, f := range all {
			texts = append(texts, f.Doc)
		}
	}
	values(append(p.Consts, p.Vars...)...)
	funcs(p.Funcs...)
	for _, typ := range p.Types {
		texts = append(texts, typ.Doc)
		values(append(typ.Consts, typ.Vars...)...)
		funcs(append(typ.Funcs, typ.Methods...)...)
	}
	return texts
}

// linksOf returns the links of a comment, and names in brackets that are none.
func linksOf(d *comment.Doc) (links []*comment.DocLink, lost []string) {
	inline := func(all []comment.Text) {
		for _, x := range all {
			switch x := x.(type) {
			case *comment.DocLink:
				links = append(links, x)
			case comment.Plain:
				for _, m := range meantAsLink.FindAllStringSubmatch(quoted.ReplaceAllString(string(x), ""), -1) {
					lost = append(lost, m[1])
				}
			}
		}
	}
	var blocks func([]comment.Block)
	blocks = func(all []comment.Block) {
		for _, x := range all {
			switch x := x.(type) {
			case *comment.Heading:
				inline(x.Text)
			case *comment.Paragraph:
				inline(x.Text)
			case *comment.List:
				for _, item := range x.Items {
					blocks(item.Content)
				}
			}
		}
	}
	blocks(d.Content)
	return links, lost
}

// firstScreen is what a terminal shows of a package comment without scrolling.
const firstScreen = 24

// A package comment shows a name of the package on the first screen, has headings when it does not fit on two, and, in the library,
// links to the root, where what all packages promise stands.
func TestPackageComments(t *testing.T) {
	w := compiledWorkspace(t)
	for folder, b := range w.own() {
		if b.Name == "main" || folder == "." || strings.Contains("/"+folder+"/", "/internal/") {
			continue
		}
		top, _, _ := strings.Cut(folder, "/")
		text := packageComment(b)
		lines := strings.Split(strings.TrimSpace(text), "\n")
		first := strings.Join(lines[:min(firstScreen, len(lines))], "\n")
		shown := false
		for _, name := range regexp.MustCompile(`[A-Z]\w*`).FindAllString(first, -1) {
			shown = shown || w.has(b.ImportPath, name)
		}
		if exports, err := w.lookup.Import(b.ImportPath); err == nil && !shown && len(exports.Scope().Names()) > 0 {
			t.Errorf("%s: the first %d lines of the package comment name nothing of the package", folder, firstScreen)
		}
		if len(lines) > 2*firstScreen && !strings.Contains(text, "\n# ") {
			t.Errorf("%s: a package comment of %d lines has no heading", folder, len(lines))
		}
		if !slices.Contains([]string{"scheduler", "tools", "examples", "cmd"}, top) && !strings.Contains(text, "["+module+"]") {
			t.Errorf("%s: the package comment does not link to what all packages promise", folder)
		}
	}
}

func packageComment(b *built) string {
	var all []*ast.CommentGroup
	for _, f := range b.files {
		if f.Doc != nil {
			all = append(all, f.Doc)
		}
	}
	text := ""
	for _, g := range all {
		text += g.Text()
	}
	return text
}
