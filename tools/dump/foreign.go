package dump

import "regexp"

var (
	described = regexp.MustCompile(`(?m)\A\s*Name: {2,}\S[^\n]*\n(?s:.*)^(Namespace|Labels|Annotations|Events|Status): `)
	listed    = regexp.MustCompile(`\A(NAMESPACE +)?NAME +([A-Z]+ +)*[A-Z]+`)
	templated = regexp.MustCompile(`\{\{-? *[\w.$"(/]`)
)

// foreign says what a text is that cannot be read as YAML, and what to run in its place; "" when nobody knows.
func foreign(text []byte) string {
	switch {
	case described.Match(text):
		return "is what kubectl describe prints: kubectl get with -o yaml, of the same objects, prints what is read here"
	case listed.Match(text):
		return "is a table that kubectl get prints: the same command with -o yaml prints what is read here"
	case templated.Match(text):
		return "is a template of Helm: helm template prints the manifests that are read here"
	}
	return ""
}
