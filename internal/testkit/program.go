package testkit

import (
	"bytes"
	"context"
	"flag"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Program runs a program in the test's process and returns its exit code and what it printed.
func Program(run func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int, stdin string, args []string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// Help holds the help of a program, which run prints, to testdata/help.txt. Every flag is in it, and -max-size is a flag.
func Help(t *testing.T, run func(stdin string, args ...string) (code int, stdout, stderr string), flags *flag.FlagSet) {
	t.Helper()
	code, help, errs := run("", "-h")
	require.Zero(t, code, errs)
	Golden(t, "testdata/help.txt", help)
	flags.VisitAll(func(f *flag.Flag) { require.Contains(t, help, "\n  -"+f.Name) })
	require.NotNil(t, flags.Lookup("max-size"))
}

// pageData are the parts of a page that the answer decides.
var pageData = regexp.MustCompile(`(?s)<title>.*?</title>|<h1>.*?</h1>|<p[^>]*>.*?</p>|<pre[^>]*>.*?</pre>|<script id="model" type="application/json">.*?</script>`)

// GoldenPage compares what the page of a program shows with the contents of file, as Golden does.
func GoldenPage(t *testing.T, file, page string) {
	t.Helper()
	Golden(t, file, strings.Join(append(pageData.FindAllString(page, -1), ""), "\n"))
}
