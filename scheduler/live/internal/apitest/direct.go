package apitest

import (
	"context"
	"io"
	"net/http"
)

// Direct returns a way to the server without a network: in a bubble of synctest, time goes on while a request waits for its answer.
func (a *API) Direct() http.RoundTripper { return direct{a} }

type direct struct{ api *API }

// RoundTrip lets the server answer in a goroutine. The request of the server ends when the caller's context ends and when the caller
// closes the body of the answer.
func (d direct) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, hangUp := context.WithCancel(r.Context())
	read, write := io.Pipe()
	context.AfterFunc(ctx, func() { _ = read.CloseWithError(context.Cause(ctx)) }) // Close of a pipe returns nil
	asked := r.Clone(ctx)
	if asked.Body == nil {
		asked.Body = http.NoBody
	}
	w := &answerer{header: http.Header{}, code: make(chan int, 1), body: write}
	go func() {
		d.api.ServeHTTP(w, asked)
		w.WriteHeader(http.StatusOK)
		_ = write.Close() // returns nil
	}()
	select {
	case code := <-w.code:
		return &http.Response{StatusCode: code, Status: http.StatusText(code), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: w.header.Clone(), ContentLength: -1, Body: body{read, hangUp}, Request: r}, nil
	case <-ctx.Done():
		hangUp()
		return nil, context.Cause(ctx)
	}
}

// answerer passes on what the server writes.
type answerer struct {
	header http.Header
	code   chan int
	begun  bool
	body   *io.PipeWriter
}

func (w *answerer) Header() http.Header { return w.header }

// WriteHeader passes on the first code.
func (w *answerer) WriteHeader(code int) {
	if !w.begun {
		w.begun = true
		w.code <- code
	}
}

func (w *answerer) Write(data []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(data)
}

// Flush begins the answer.
func (w *answerer) Flush() { w.WriteHeader(http.StatusOK) }

// body is that of an answer. Who closes it hangs up.
type body struct {
	io.Reader
	hangUp func()
}

func (b body) Close() error {
	b.hangUp()
	return nil
}
