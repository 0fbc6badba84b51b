package dump

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var (
	described = regexp.MustCompile(`(?m)\A\s*Name: {2,}\S[^\n]*\n(?s:.*)^(Namespace|Labels|Annotations|Events|Status): `)
	listed    = regexp.MustCompile(`\A(NAMESPACE +)?NAME +([A-Z]+ +)*[A-Z]+`)
	dashed    = regexp.MustCompile(`(?m)^[-\x{2010}-\x{2015}]*[\x{2010}-\x{2015}][-\x{2010}-\x{2015}]*\s*$`)
	templated = regexp.MustCompile(`\{\{-? *[\w.$"(/]`)
)

// foreign says what a text is that cannot be read as YAML, and what to run in its place; "" when nobody knows.
func foreign(text []byte) string {
	switch {
	case described.Match(text):
		return "is what kubectl describe prints: kubectl get with -o yaml, of the same objects, prints what is read here"
	case listed.Match(text):
		return "is a table that kubectl get prints: the same command with -o yaml prints what is read here"
	case dashed.Match(text):
		line := 1 + bytes.Count(text[:dashed.FindIndex(text)[0]], []byte("\n"))
		return fmt.Sprintf("has dashes that are no hyphens in line %d of the document: three hyphens (---) part documents", line)
	case templated.Match(text):
		return "is a template of Helm: helm template prints the manifests that are read here"
	}
	return ""
}

// patched says of a list of operations, and of an object that tells how to merge it, that it is a patch; "" of other documents.
func patched(data []byte) string {
	var operations []struct {
		Op   string `json:"op"`
		Path string `json:"path"`
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) && json.Unmarshal(data, &operations) == nil && len(operations) > 0 && operations[0].Op != "" && operations[0].Path != "" ||
		bytes.Contains(data, []byte(`"$patch":`)) {
		return "is a patch of kustomize" + kustomized
	}
	return ""
}

// partial reports whether a controller lacks the selector that the API server wants, as patches do.
func partial(o metav1.Object) bool {
	switch x := o.(type) {
	case *appsv1.Deployment:
		return x.Spec.Selector == nil
	case *appsv1.ReplicaSet:
		return x.Spec.Selector == nil
	case *appsv1.StatefulSet:
		return x.Spec.Selector == nil
	case *appsv1.DaemonSet:
		return x.Spec.Selector == nil
	}
	return false
}

const (
	kustomize  = "kustomize.config.k8s.io" // the group of what kustomize reads
	kustomized = ": kubectl kustomize, with the folder of the kustomization, prints the manifests that are read here"
)
