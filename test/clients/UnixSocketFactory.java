import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.UnixDomainSocketAddress;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import javax.net.SocketFactory;

/** Connects to one Unix socket, whatever address is asked for. */
public class UnixSocketFactory extends SocketFactory {
	private final String path;

	public UnixSocketFactory(String path) {
		this.path = path;
	}

	@Override
	public Socket createSocket() {
		return new UnixSocket(path);
	}

	@Override
	public Socket createSocket(String host, int port) throws IOException {
		Socket socket = createSocket();
		socket.connect(null);
		return socket;
	}

	@Override
	public Socket createSocket(String host, int port, InetAddress local, int localPort)
			throws IOException {
		return createSocket(host, port);
	}

	@Override
	public Socket createSocket(InetAddress host, int port) throws IOException {
		return createSocket((String) null, port);
	}

	@Override
	public Socket createSocket(InetAddress host, int port, InetAddress local, int localPort)
			throws IOException {
		return createSocket((String) null, port);
	}

	/** A socket whose streams are a channel's; what belongs to TCP does nothing. */
	private static class UnixSocket extends Socket {
		private final String path;
		private SocketChannel channel;

		UnixSocket(String path) {
			this.path = path;
		}

		@Override
		public void connect(SocketAddress address) throws IOException {
			channel = SocketChannel.open(UnixDomainSocketAddress.of(path));
		}

		@Override
		public void connect(SocketAddress address, int timeout) throws IOException {
			connect(address);
		}

		@Override
		public boolean isConnected() {
			return channel != null;
		}

		@Override
		public boolean isClosed() {
			return channel != null && !channel.isOpen();
		}

		@Override
		public InputStream getInputStream() {
			return Channels.newInputStream(channel);
		}

		@Override
		public OutputStream getOutputStream() {
			return Channels.newOutputStream(channel);
		}

		@Override
		public void close() throws IOException {
			if (channel != null) {
				channel.close();
			}
		}

		@Override
		public void setTcpNoDelay(boolean on) {}

		@Override
		public void setKeepAlive(boolean on) {}

		@Override
		public void setSoTimeout(int timeout) {}

		@Override
		public int getSoTimeout() {
			return 0;
		}
	}
}
