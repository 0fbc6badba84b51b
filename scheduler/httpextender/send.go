package httpextender

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/podberth/podberth/scheduler/httpextender/rules"
)

// This file sends a request and reads the answer.

// errTrailing is the error of an answer with data after its JSON value.
var errTrailing = errors.New("the answer has data after its JSON value")

// send posts a request and decodes the answer. It is an error when the status is not 200, the answer is not JSON of the
// right form, the answer is longer than the limit, or data follow the JSON value.
func (c *Client) send(ctx context.Context, v Verb, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	url := rules.URL(c.config.URLPrefix, c.verb(v))
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("failed %v with extender at URL %v, code %v", c.verb(v), url, response.StatusCode)
	}
	return c.decode(response.Body, answer)
}

// decode reads one JSON value within the limits of the options.
func (c *Client) decode(body io.Reader, answer any) error {
	limit := c.options.AnswerLimit
	if limit == 0 {
		limit = DefaultAnswerLimit
	}
	if limit > 0 {
		body = &limited{body, limit, limit}
	}
	d := json.NewDecoder(body)
	if err := d.Decode(answer); err != nil {
		return err
	}
	if c.options.TrailingData {
		return nil
	}
	switch _, err := d.Token(); {
	case err == io.EOF:
		return nil
	case errors.As(err, new(*tooLong)):
		return err
	}
	return errTrailing
}

// limited reads at most limit bytes; the byte after them is an error.
type limited struct {
	r           io.Reader
	left, limit int64
}

// tooLong is the error of an answer that is longer than the limit.
type tooLong struct{ limit int64 }

// Error names the limit and the option that raises it.
func (e *tooLong) Error() string {
	return fmt.Sprintf("the answer has more than %d bytes (Options.AnswerLimit)", e.limit)
}

// Read reads from the inner reader. It returns a *tooLong for the first byte after the limit.
func (l *limited) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if int64(n) > l.left {
		return int(l.left), &tooLong{l.limit}
	}
	l.left -= int64(n)
	return n, err
}

// sameHost refuses redirects to another scheme, host or port. It allows ten redirects, as the standard library does.
func sameHost(to *http.Request, via []*http.Request) error {
	if from := via[0].URL; to.URL.Scheme != from.Scheme || to.URL.Host != from.Host {
		return fmt.Errorf("redirect to another host: %s://%s (Options.OtherHosts)", to.URL.Scheme, to.URL.Host)
	}
	if len(via) >= 10 {
		return errors.New("stopped after 10 redirects")
	}
	return nil
}
