package dump

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A text is a stream of JSON objects when it begins as one and nothing in it is wrong; an empty beginning may become one.
func TestLooksLikeJSON(t *testing.T) {
	for text, want := range map[string][2]bool{ // the whole text, its beginning
		"": {false, true}, " \n": {false, true}, "{}": {true, true}, " {} ": {true, true}, "{}{}": {true, true}, "{}x": {false, false},
		"a: b": {false, false}, "[]": {false, false}, `{"a":`: {true, true}, "{a: b}": {false, false}, "{} {a: b}": {false, false},
	} {
		require.Equal(t, want[0], looksLikeJSON([]byte(text), true), "whole %q", text)
		require.Equal(t, want[1], looksLikeJSON([]byte(text), false), "beginning %q", text)
	}
}

// A byte order mark is no part of the text.
func TestMarks(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "a": "a", "ab": "ab", "abc": "abc", "\xef\xbb\xbf": "", "\xef\xbb\xbfa": "a", "\xef\xbb": "\xef\xbb",
		"\xff\xfe": "", "\xff\xfea\x00": "a", "\xfe\xff": "", "\xfe\xff\x00a": "a", "\xff": "\xff", "\xffa": "\xffa", "\xfea": "\xfea",
	} {
		r, err := plain(strings.NewReader(text), Options{})
		require.NoError(t, err)
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		require.Equal(t, want, string(got), "%q", text)
	}
}

// A version of too many parts is told as it is written, and a pod that has failed takes no room.
func TestVersionsAndFailedPods(t *testing.T) {
	_, err := readText("{apiVersion: a/b/c, kind: Pod, metadata: {name: p}}", Options{})
	require.EqualError(t, err, `standard input: document 1: apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c`)
	for phase, orphan := range map[string]bool{"Failed": false, "Succeeded": false, "Running": true, "Pending": true} {
		o, err := readText(nodeYAML+"\n---\n{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {nodeName: gone}, status: {phase: "+phase+"}}", Options{})
		require.NoError(t, err)
		require.Equal(t, orphan, o.Orphans("counted nowhere") != nil, phase)
	}
}
